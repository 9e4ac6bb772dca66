"""日本語のデータ。Japanese as data: the word lists that code uses, and every word that people read in a report."""

from contend.text.en import (
    AgreementWords,
    ChartWords,
    FeedbackWords,
    Headings,
    NoteWords,
    ProofWords,
    StepWords,
    VerifyWords,
    Words,
)

STOP_PAIRS = frozenset(
    """
    です ます でし まし した して しま する され せる れる られ れた れて てい いる いた いて ある あり あっ った って
    から こと とが とを ため には では とは とし にお おい にも ので のは のが のを のか また なる なっ ない なく よう
    うな うに とい いう もの など どの この その それ これ さん ませ せん だっ であ
    """.split()  # noqa: SIM905 - a list of words reads better
)
"""Stop pairs: pairs of characters that say nothing about a subject."""

NUMERALS = {character: value for value, character in enumerate("〇一二三四五六七八九")}

ERAS = {"令和": 2018, "平成": 1988, "昭和": 1925, "大正": 1911, "明治": 1867}
"""For each era, the year before its first year."""

DATE_FIELDS = "日付|(?:作成|発行|発信|公開|(?:最終)?更新|改訂|締結|提出|記録)(?:年月)?(?:日時?)?"
CHANGE_FIELDS = "(?:最終)?(?:更新|改訂|改定|変更)(?:年月)?(?:日時?)?"
"""The words before the day of a text's last change, often at its end."""

AFTER_DATE = "締結|現在|時点|付け?|作成|発行|公開|更新|改訂|版"
"""The words before and after a document's own date, at the head of letters, contracts, minutes and manuals.

`日時` alone is the day of an event, as in an invitation.
"""

OTHER_DAYS_END = "日期限"
"""The endings of words for other days, such as a deadline."""

WEEKDAYS = "月火水木金土日"

ASKS = (
    "どの(?:よう(?:に|な)|程度|くらい|ぐらい)?|どう(?:して|やって)?|どれ(?:くらい|ぐらい|ほど)?|どこ|どんな|なぜ|なに|なん|いつ"
    "|いくつ|いくら|だれ|何故|何[がをにで]?|誰|教えて|説明して|について|に関して|とは"
)
"""Words that turn a subject into a question. Answers do not repeat them."""

CONTENT_WORD = "[一-鿿々〆]+|[ァ-ヶー]+|(?:(?![ぁ-ヶー一-鿿々〆])[\\w.-])+"
"""A content word: the text between particles and endings, which are written in hiragana."""

OPENERS = (
    r"解答?|解説|かいせつ|回答|答え|思考(?:過程|プロセス)|(?:では|さて)?(?:段階的に|順を追って|一歩ずつ)?考えてみましょう"
    r"|(?:段階的に|順を追って)考え(?:ます|よう)"
)
"""Openers that alone won full marks from judges."""

_CREDENTIAL = r"(?:パスワード|暗証番号|秘密鍵|合言葉|(?:API|アクセス)\s?キー)"
CREDENTIALS = (
    rf"{_CREDENTIAL}\s*(?:は|[:：=])\s*\S"
    rf"|{_CREDENTIAL}[^。]{{0,40}}?(?:は|が|として|に)\s*[「『]?[\w-]{{0,60}}(?:[A-Za-z][\w-]{{0,60}}\d|\d[\w-]{{0,60}}[A-Za-z])"
)
PERSONAL_DATA = r"生年月日|(?:自宅の?|現)住所|旅券番号|マイナンバー"
GRADING = r"審査員|採点者|評価者|(?:評価)?指標の|得点|(?:点数?|スコア|評価)(?:を|が)(?:上げ|上が|稼|得|高|伸)"
"""Patterns that keep a lesson out of a playbook: secrets, personal data, talk of scores."""

YES, NO = "はい", "いいえ"

_COUNTS = {
    "model_calls": "モデル呼び出し{count}回",
    "queries": "検索語{count}件",
    "parts_answered": "{count}項目のうち{part}項目に回答",
    "parts": "質問の{count}項目",
    "sources": "資料{count}件",
    "pages": "{count}ページ中{part}ページは全文",
    "passages": "抜粋{count}件中{part}件",
    "statements": "{count}文",
    "found_passages": "該当箇所{count}件",
    "references": "参考文献{count}件",
    "uncited": "ほかに{count}件の文書を読み、引用しなかった。",
    "rounds": "{count}ラウンド",
    "comparisons": "比較{count}件",
    "changes": "変更{count}件",
    "answers": "回答{count}件",
}

WORDS = Words(
    about_run="この実行について",
    status="レポート",
    winner="勝者",
    published="公開",
    merge_and_best="編集者の統合レポート（{merged}）、最良のチームは{team}（{best}）",
    published_unscored="未採点のまま公開",
    active_time="実行時間",
    seconds="{seconds:.1f}秒",
    minutes="{minutes}分{seconds}秒",
    models="モデル",
    replies="モデルの返答",
    recorded="{date}に記録（モデル {model}）",
    recorded_usage="{recorded}。記録時は{calls}、{tokens:,}トークン。今回はモデルを呼び出していない",
    usage="公開までの使用量",
    calls_and_tokens="{calls}、入力{input:,}トークン、出力{output:,}トークン",
    from_cache="、入力の{share:.0%}はプロバイダーのキャッシュを利用",
    cost_unknown="費用不明",
    counts={thing: (text, text) for thing, text in _COUNTS.items()},
    sources_off="使えなかった情報源",
    left_out="検索しなかった文書",
    files_and_more="{names} ほか{count:,}件",
    file_reason="{files}（{why}）",
    further_reasons="ほかの理由で検索しなかったファイル: {count:,}件",
    unread="全文を読めなかったページ",
    missing="チームのグラフが引用し、取得できなかった資料",
    speaking="AIへの指図があったため、その箇所を除いた資料",
    withheld="資料がAIに言わせようとした内容を繰り返すため、除いた文",
    note="注記",
    warning="警告",
    leaderboard="順位表",
    leaderboard_columns=("順位", "チーム", "最高点", "ラウンド"),
    the_editor="編集者",
    lessons="使われた教訓（これまでの実行から）",
    unverified="要確認の引用（⚠: 引用元で裏付けを確認できなかった文）",
    sums="計算した記述の式",
    colon="：",
    statuses={"completed": "完成", "partial": "一部のみ完成"},
    unscored="未採点",
    criterion_example="例: {text}",
    progress={
        "run_started": "{teams}が調査を始めました。",
        "plan": "{team_id}（第{round}ラウンド）: 計画ができました。",
        "write": "{team_id}（第{round}ラウンド）: 下書きができました。",
        "round_scored": "{team_id}（第{round}ラウンド）: {score}。",
        "team_failed": "{team_id}は棄権しました: {error_message}。",
        "winner_picked": "{team_id}が{score}で1位です。",
        "merge_picked": "編集者の統合レポートを公開します（{published_score}）。最良のチームは{team_id}（{score}）。",
        "step_chosen": "{reason}",
        "report_merged": "編集者がレポートを統合しました。",
    },
    asked={
        "plan": "{team}の計画: {theme}",
        "report": "{team}のレポート: {theme}",
        "changes": "プレイブック {dataset} への{changes}",
        "merged": "各チームのレポートを統合したもの: {theme}",
    },
    language="日本語",
    steps=StepWords(
        least_rounds="第{round}ラウンド（少なくとも{least}ラウンド行う）",
        criteria_met="基準{criteria}件をすべて満たした",
        still_open="残っているもの: {what}",
        unmet="満たしていない基準: {criteria}件のうち{count}件",
        partly="一部だけ満たした基準: {criteria}件のうち{count}件",
        open_parts="質問の項目: {count}件",
        unsupported="裏付けのない記述: {count}件",
        in_part="一部しか裏付けのない記述: {count}件",
        fixes="審査員が挙げた修正点: {count}件",
        nothing_to_mend="直すべき点を挙げた審査員がいない",
        contradicted="引用元と食い違う記述: {count}件",
        separator="、",
        unjudged="レポートを基準に照らした審査員がいない",
        no_contest_met="第{round}ラウンドで基準{criteria}件をすべて満たしたため、競争は不要だった。",
        no_contest="第{round}ラウンドの後、ほかのチームに任せるものは残っていないため（{what}）、競争は不要だった。",
        no_contest_target="第{round}ラウンドで目標の得点に達したため、競争は不要だった。",
        no_other_team="第{round}ラウンドの後に残っているもの: {what}。資料、モデル、進め方の異なるチームはほかにない。",
        no_budget="第{round}ラウンドの後に残っているもの: {what}。ほかのチームを加えるには予算の残りが足りない。",
        cost="使ったのは{tokens}トークンで、競争すれば約{contest}トークンだった。",
        send="第{round}ラウンドの後に残っているもの: {what}。加わるチーム: {teams}。",
        send_instead="{team} は何も提出しなかった。加わるチーム: {teams}。",
        none_delivered="レポートを提出したチームはない。",
        one_delivered="レポートを提出したのは {team} だけで、統合するものがない。",
        alike="{team} のレポートが満たさないことを満たすレポートはほかになく、統合しない。",
        merge=(
            "{team} のレポートが満たさないことを {teams} が満たした（基準と項目を合わせて{count}件）ため、"
            "編集者がレポートを統合する。"
        ),
        merge_asked="実行の設定に従い、編集者がレポートを統合する。",
        merge_unjudged="すべてのレポートを基準に照らした審査員がいないため、編集者がレポートを統合する。",
        no_budget_for_editor="編集者に任せるには予算の残りが足りない。",
        no_merge_asked="実行の設定に従い、編集者はレポートを統合しない。",
        gain_here="見込まれる向上: {points:.1f}点（このワークスペースの{count}回の実績）。",
        gain_shipped="見込まれる向上: およそ{points:.0f}点（短い文書での比較による）。",
    ),
    chart=ChartWords(
        title="ラウンドごとの点数",
        score="点数（100点満点）",
        round="第{number}ラウンド",
        merge="統合",
        editor="編集者の統合レポート",
        published="公開",
    ),
    feedback=FeedbackWords(
        metrics_unscored="採点できなかった指標: {names}。ほかの指標だけで評価した",
        judges_unscored="採点できなかった指標: {names}。コードによる指標だけでは採点しない",
        capped="上限を適用: 引用が一つもないか、取得していない資料への引用がある",
        unsupported="引用元はこれを述べていない。",
        unsupported_because="引用元はこれを述べていない（{lacking}）。",
        said_in_part="引用元はこの一部しか述べていない（{lacking}）。",
        quoted="{mark}「{text}」",
        uncited="引用が一つもない",
        no_passage_cited="手元にある抜粋を引用する記述がない",
        none_judged="引用元の語句を示す記述がなく、だれも判定していない",
        quote_not_found="審査員の引用「{quote}」は、示された抜粋のどれにもない",
        no_quote="審査員が語句を引用していない",
        contradicted_by="{reason} 引用元:「{quote}」",
        citations_retrieved="引用{all}件のうち{good}件が、取得した資料を指している",
        citations_missing="。取得できなかったもの: {text}",
        no_plan="質問の項目が分からない",
        points_answered="質問の{all}項目のうち{good}項目に答えている",
        points_missing="。未回答または一部のみ回答: {text}",
        found_after_all=(
            "- 報告が見つからないとした事柄（{text}）を検索したところ、{passages} が見つかった。"
            "これらが述べることを書き、述べていないことだけを見つからないとする。何も述べていなければ、その記述のままにする。"
        ),
        sentences_supported="引用のある{all}文のうち{good}文が、引用元で裏付けられている",
        sentences_partly="。一部だけ述べられている文: {count}",
        sentences_unfounded="。引用のない文: {count}",
        sentences_unjudged="。だれも判定していない文: {count}",
        weakest_sentence="。裏付けのない文:「{text}」",
        submission_empty="提出物が空である",
        submission_repeats_question="質問のほかに何も述べていない",
        criteria_met="基準{all}件のうち{met}件を満たし、{partly}件は一部だけ、{unmet}件は満たしていない",
        criterion_partly="一部だけ満たした基準: {text}",
        criterion_unmet="満たしていない基準: {text}",
        whole_report="レポート全体",
        no_verdict="審査員がこの指標を評価しなかった",
    ),
    notes=NoteWords(
        all_delivered="全チームが提出しました",
        search_only="お手元の文書を検索した結果です。言語モデルは使っていません。OPENAI_API_KEY、または手元のサーバーなら"
        "OPENAI_BASE_URLを設定すると、チームがレポートを競います",
        nothing_holds="レポートの記述はどれも抜粋に裏付けがないため、すべてに取り消し線を引きました。別のモデルを試してください",
        near_tie="僅差: 上位のチームを一対一で比較し、その結果を順位に反映しました",
        team_ended="{teams}が{status}: {why}",
        one_team="チーム {team} ",
        several_teams="チーム {teams}、{last} ",
        team_statuses={"failed": "失敗", "timeout": "時間切れ"},
        no_reason="理由は不明",
        limit_reached="{limit} に達したため、それまでの最良の提出物を掲載しています",
        all_unscored="未採点: 採点できた提出物がありません",
        learning_failed="実行から学習できませんでした: {why}",
        report_rejected="人がレポートを却下しました: {why}",
        report_revised="人のコメントを受けて一度書き直しました。点数は書き直す前のものです: {comment}",
        revised_before="レポートは一度書き直されています。承認、編集、却下のいずれかを選んでください",
        not_revisable="引用は言語モデルなしでは書き直せません。承認、編集、却下のいずれかを選んでください",
        not_revised="レポートを書き直せませんでした: {why}",
        left_undone="書き手が行わなかったこと: {what}",
        same_reason="理由は同じ",
        no_criteria="評価基準を作れなかったため、網羅性はルーブリックだけで判定しています",
        no_parts="質問を項目に分けられなかったため、質問全体を一つの項目としています",
        unscored_in="{rounds}のうち{count}ラウンドで採点できなかった指標: {names}",
        round_judge_failed="{rounds}で続行の判定に失敗し、チームはそのまま続けました",
        comparisons_failed="僅差の{comparisons}のうち{count}件が失敗しました",
        editor_failed="レポートを統合できなかったため、最良のチームのレポートを掲載しています",
        quotes_dropped="提出物にない引用として、審査員の評価から除いた件数: {count}",
        own_judges="審査員が執筆と同じモデル（{models}）です。別のモデルのほうが公平です"
        "（config/models.toml の [roles] evaluator と judge）",
    ),
    headings=Headings(
        "概要",
        "主な発見",
        "詳細な分析",
        "制約と課題",
        "参考文献",
        "ほかに読んだ資料",
        "出典",
        "（計算）",
        "計算",
    ),
    legend={
        "†": "書き手の判断",
        "‡": "探したが見つからなかったこと",
        "⇄": "資料の食い違い",
        "[=…]": "コードで検算した式",
    },
    with_reason="{text}（{reason}）",
    between="、",
    partly="一部だけ: {reason}",
    merged_published="上のレポートは{count}チームのレポートの良い部分を統合したものです。"
    "得点は{score}、最良のチームは{best}でした。",
    merged_preferred="上のレポートは{count}チームのレポートの良い部分を統合したもので、審査員は最良のチームのレポートよりこちらを選びました。"
    "得点は{score}、最良のチームは{best}でした。",
    merged_not_preferred="{count}チームのレポートを統合しましたが、審査員が最良のチームのレポートを選んだため、そちらを掲載しています。"
    "統合したレポートの得点は{score}、最良のチームは{best}でした。",
    merged_not_better="{count}チームのレポートを統合しましたが、最良のチームのレポートを上回らなかったため、そちらを掲載しています。"
    "統合したレポートの得点は{score}、最良のチームは{best}でした。",
    taken_from="{team}から: {what}",
    not_listed="参考文献にない資料",
    the_source="出典",
    unknown_address="（資料にないアドレス）",
    passages_found="質問に最も近い箇所は次の文書にあります: {files}。"
    "質問の答えになっているかどうかは、だれも判定していません。",
    parts_found="質問の{parts}項目のうち{count}項目に近い箇所が次の文書にあります: {files}。"
    "質問の答えになっているかどうかは、だれも判定していません。",
    nothing_found="お手元の文書に、質問の言葉を含む箇所はありません",
    no_passage="お手元の文書に、この言葉を含む箇所はありません。",
    part_not_found="お手元の文書に、この項目の言葉を含む箇所はありません: {part}",
    superseded="旧版（名前または日付による）: {file} のほうが新しい",
    agreement=AgreementWords(
        found="{teams}チーム中{count}チームが独立に発見",
        found_heading="複数のチームが独立に見つけたこと",
        found_count="{teams}チーム中{count}チーム: {statements}",
        found_statement="{text}（{teams}チーム中{count}チーム）",
        heading="チームの見解が分かれた点",
        point="**{point}**（{teams}）: {end}",
        decided="このレポートは{team}の見解を採る。{why}",
        undecided="どちらとも決められない。{why}",
    ),
    proof=ProofWords(
        stated="引用",
        cited="引用元のみ（語句の引用なし）",
        uncited="引用なし",
        calculated="計算",
        disputed="資料の食い違い",
        derived="引用元から導いた記述",
        judgement="書き手の判断",
        not_found="見つからなかったこと",
        searched="検索した言葉: {words}",
        doubted="要確認: {why}",
        read_at="{day}に取得",
        show="強調表示",
        filters={
            "calculated": "計算",
            "judgement": "判断",
            "not_found": "見つからず",
            "disputed": "資料の食い違い",
            "doubted": "要確認",
        },
    ),
    verifying=VerifyWords(
        passage_missing="抜粋 {passage} がファイルにない",
        passage_changed="{document} の抜粋が、読んだときのものと違う",
        holds_again="成り立たないとされたことが、今は成り立つ",
        document_changed="{document} はもうそう述べていない",
        document_gone="{document} がない",
    ),
    refuted={
        "quote": "「{detail}」は、示している抜粋のどれにもない",
        "figure": "引用した語句に {detail} がない",
        "sum": "式の値が {detail} と合わない",
        "input": "式の {detail} は、どの抜粋にもほかの記述にもない",
    },
    signals={
        "roles": "チャットの発言を装う記述",
        "override": "規則を無視させる命令",
        "addressed": "AIに何を言うかを指図する文",
        "begging": "採点を求める文",
        "disguise": "別の文字に見せかけた綴り",
        "hidden": "読み手から隠した文章",
        "model": "言語モデルの判断",
    },
)
