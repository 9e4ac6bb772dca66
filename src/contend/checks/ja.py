"""主張の検査で使う日本語の語。データのみ。Words of Japanese that the checks of claims look for. Data only."""

NEGATION = r"(?<!には)(?<!にも)な(?:い|かった|く|し(?=[、。]|\Z))|ません|ず(?=[、。にと]|\Z)|ぬ(?=[、。]|\Z)|ざる"
"""Endings that deny the word before them."""

NOT_NEGATING = (
    r"なければな(?:らない|りません)|ねばな(?:らない|りません)|ざるを得|なくてはな(?:らない|りません)|だけでなく|のみならず|ばかりでなく|かもしれな|"
    r"に(?:すぎ|過ぎ)ない|まもなく|間もなく|少なく|少ない|に満たない|危ない|必ず|まず|ほかなら|とも限らな"
)
"""Phrases in which such an ending denies nothing."""

NEGATIVE_PREFIXES = "不未非無"

CLAUSE_ENDS = r"[、，；：]"

OPPOSITES: tuple[tuple[str, str], ...] = (
    (r"増(?!田|山|井)|上昇|上が[りっる]|伸び|拡大|倍", r"減|低下|下落|下が[りっる]|縮小|半減"),
    (r"上回|超[えすし過]|以上|より上", r"下回|未満|以下|に満たな"),
    (r"高[いくかけ]", r"低[いくかけ]"),
    (r"多[いくか]", r"少な[いくか]"),
    (r"大き", r"小さ"),
    (r"長[いくか]", r"短[いくか]"),
    (r"速[いくか]|早[いくか]", r"遅[いくかれ]"),
    (r"安[いくか価]|割安", r"高価|割高|費用がかさ"),
    (r"採用|可決|承認|受け入れ|選[んびば]", r"不採用|否決|却下|見送|断[っりる]|退け"),
    (r"賛成", r"反対"),
    (r"許可|認め", r"禁止|禁じ"),
    (r"開[いくけかき](?!始)|開放", r"閉[まじざ鎖]"),
    (r"含[まみむん]", r"除[いくか]|除外"),
    (r"改善|向上", r"悪化"),
    (r"成功", r"失敗"),
    (r"勝[ちっつ]|勝利", r"敗[れ北]|負け"),
    (r"黒字|利益", r"赤字|損失"),
    (r"すべて|全て|必ず|いつも|たびたび|しばしば", r"一つも|一度も|まったく|ほとんど"),
    (r"開始|始[まめ]", r"終[わえ]|終了|停止"),
    (r"購入|買[っいう]", r"売却|売[っりる]"),
    (r"輸出", r"輸入"),
    (r"北部", r"南部"),
)
"""Patterns of the two sides of a scale."""

NUMERALS = {character: value for value, character in enumerate("〇一二三四五六七八九")}

ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
"""The year before an era's first."""

ABOUT = r"(?:約|およそ|おおよそ|ほぼ|最大|少なくとも)\s*$"
"""Before a figure: it is rounded."""

LINES = {
    "year": "引用元に{detail}年は出てこない",
    "figure": "数値{detail}は引用元にない",
    "unit": "引用元では{detail}の単位が違う",
    "sign": "引用元では{detail}の符号が違う",
    "negation": "「{detail}」について、引用元は逆のことを述べている",
    "direction": "引用元は「{detail}」の逆を述べている",
    "name": "{detail}という名前は引用元にない",
    "language": "引用元は別の言語で書かれており、名前と数値だけを比べた",
    "word": "引用元に「{detail}」に当たる言葉がない",
    "place": "引用元では、{detail}は別のことについて述べられている",
    "elsewhere": "別の抜粋のほうがはっきり述べている: {detail}",
    "arithmetic": "{detail}",
    "no_passage": "抜粋が一つも示されていない",
    "speaks_to_ai": "AIに向けた文章を含む資料だけに基づいている",
}
"""What a reader is told of each rule's marks."""

SIGNALS = {
    "roles": "チャットの発言を装う記述",
    "override": "規則を無視させる命令",
    "addressed": "AIに何を言うかを指図する文",
    "begging": "採点を求める文",
    "disguise": "別の文字に見せかけた綴り",
    "hidden": "読み手から隠した文章",
    "model": "言語モデルの判断",
}
"""What a reader is told of each signal by which a source speaks to AI systems."""
