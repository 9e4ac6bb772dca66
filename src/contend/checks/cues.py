"""Words by which a text speaks to AI systems, as patterns of folded text: small letters, no accents.

They are signals, and few on purpose: whatever else is said, in whatever language, is for a language model to read.
"""

MACHINES = (
    r"\b(?:ai|ia|ki|llms?|gpt)\b|\bchatbots?\b|\bassist[ea]nt\w*|\basisten\w*|\blanguage models?\b"
    r"|\bmod\w+ d[ei] l[ei]ngua\w+"
    r"|\bmodel\w* de l[ai]ngu?a\w+|sprachmodell\w*|языков\w* модел\w*|\bautomated (?:reader|system|process)\w*"
    r"|言語モデル|アシスタント|人工知能|生成ai|自動処理"
    r"|语言模型|人工智能|助手|인공지능|언어 모델|भाषा मॉडल|الذكاء الاصطناعي"
)
RULES = (
    r"\binstru[ckz]\w+|\bistruz\w+|\bprompts?\b|\bguidelines?\b|\brules?\b|\brubrics?\b|\bcriteri\w+|\banweisung\w*|\bregeln?\b"
    r"|инструкци\w+|\bregl[ae]s?\b|\bconsignes?\b|\bpolecen\w+|\btalimat\w*|指示|命令|規則|ルール|プロンプト|基準|指令|提示词|지시|निर्देश|تعليمات"
)
SET_ASIDE = (
    r"\b(?:ignor\w*|disregard|forget|overrid\w+|bypass|overlook|vergiss|olvida\w*|oublie\w*|dimentica\w*|esqueca|zignoruj\w*|игнорир\w+)\b"
    r"|\byok say\b|無視|忘れ|破棄|従わ|忽略|无视|忘记|무시|अनदेखा|تجاهل"
)
SPOKEN_OF = r"\b(?:ignor(?:e|es|ed|ing)|disregard|forget|overrid\w+|bypass|overlook)\b"
IMPERATIVE = (
    r"(?:\A\W*|[,;:.!?)]\s*|\b(?:please|must|should|shall|and|then|now)\s+)"
    r"(?:ignore|disregard|forget|override|bypass|overlook)\b"
)
"""English sets its rules aside by an order; "models ignore instructions" is none."""

PRIOR = (
    r"\b(?:previous\w*|prior|above|earlier|all|your|you|given|system|alle|bisherig\w+|toutes|precedent\w*|recues?|todas|anterior\w*"
    r"|ricevut\w+|предыдущ\w+|wszystkie|poprzedni\w*|onceki|tum)\b"
    r"|deine|sistema|これまで|以前|上記|与えられ|すべて|之前|所有|이전|모든|पिछले|सभी|السابقة"
)
TEXTS = (
    r"\b(?:answers?|reports?|summar(?:y|ies|i[sz]\w+)|respon[sc]es?|repl(?:y|ies)|outputs?|submissions?|antwort\w*|berichts?|zusammenfassung"
    r"|reponses?|resumes?|rapports?|rapporto|respuestas?|informe|resumen|resumo|risposta|podsumowaniu|отве\w+|отч[её]\w*|ozete)\b"
    r"|レポート|報告書?|回答|答え|要約|出力|返答|提出物|回答|摘要|报告|답변|요약|보고서|सारांश|الملخص"
)
SAY = (
    r"\b(?:write|say|state|tell|mention|include|add|append|print|output|repeat|reply|respond|answer|conclude|recommend|cite|name|praise"
    r"|claim|report|empfehl\w*|citez|dites|dis|diga|afirmar|rekomend\w+|рекоменд\w+|cite|menciones|scrivi|napisz)\b"
    r"|書い|書け|記載|出力|答え|付け加え|伝え|報告|引用|推荐|告诉|写上|추천|쓰세요"
)
MUST = (
    r"\b(?:must|should|shall|have to|required|always|never|only|please|do not|don't|instead"
    r"|ausschliesslich|uniquement|seulement|debe|следует)\b"
    r"|必ず|ください|こと(?:[。\s]|\Z)|せよ|しなさい|のみ|只|必须|请|반드시"
)
YOURS = r"\byour (?:\w+ )?|\b(?:votre|deiner|ihrer|su|vos|sua) "
IF_YOU_ARE = r"\bif you(?:'re| are)\b|\bse voce e\b|\bsi (?:tu es|vous etes|eres)\b|\bwenn du\b|如果你是|あなたが"
GRADES = (
    r"(?<!\d)100(?!\d)|\b(?:full marks|full credit"
    r"|(?:highest|perfect|maximum|top|best) (?:scores?|marks?|points?|rating|grade)|volle punktzahl"
    r"|note maximale)\b|満点|最高(?:点|評価)|百点|满分"
)
GRADING = (
    r"\b(?:give|award|assign|grant|rate|score|grade|deserves?|merits?|receive|geben|merite|verdient)\b"
    r"|与え|付け|つけ|値する|打|请给"
)
OF_MINE = r"\b(?:this|my|our|the|it|diesem|ce)\b|この|本|提出物|这份"
JUDGES = r"\b(?:judges?|evaluat\w+|graders?|reviewers?|assessors?|gutachter|jury)\b|審査員|評価者|採点者|评审"
ROLES = (
    r"<\|[\w .-]{1,40}\|>|\[/?inst\]|<</?sys>>|</?\w{1,20}-[0-9a-f]{6,}>"
    r"|\A\W*(?:system|assistant|developer|システム|系统)(?: \w+)?\s*[:：].{0,80}?"
    r"(?:\b(?:you|your|the user|i will|from now|ignore|disregard|write|say)\b|あなた|你|您)"
)
HIDDEN = r"\(hidden text: |<!--|display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0"
QUOTED = r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|`[^`\n]{0,300}`|「[^」\n]{0,300}」|『[^』\n]{0,300}』|«[^»\n]{0,300}»"
"""What is quoted is spoken of; nobody is told it."""

LOOKALIKES = dict(
    zip(
        "авсеһіјкмнорԛѕтухԝѵгАВСЕНІЈКМОРЅТУХԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχɡı",
        "abcehijkmhopqstyxwvrABCEHIJKMOPSTYXGABEZHIKMNOPTYXaeiknoptyxgi",
        strict=True,
    )
)
"""Letters of other scripts as the Latin ones that they look like."""
