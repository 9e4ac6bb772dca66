"""The words of both languages: each message as it stands in the code, and in Japanese.

Ids, options, commands and JSON are the same in both.
"""

import os

JAPANESE = {
    # Statuses of runs and teams
    "Running": "実行中",
    "Completed": "完了",
    "Partly done": "一部のみ完了",
    "Failed": "失敗",
    "Stopped": "停止",
    "Waiting": "回答待ち",
    "pending": "待機中",
    "running": "実行中",
    "completed": "完了",
    "partial": "一部のみ完了",
    "failed": "失敗",
    "timeout": "時間切れ",
    "interrupted": "停止",
    "stopped": "停止しました",
    "all teams delivered": "全チームが提出しました",
    # Why a team stopped
    "the tokens are used up": "トークンの上限に達した",
    "the money is used up": "費用の上限に達した",
    "the minutes are used up": "実行時間の上限に達した",
    "the calls are used up": "呼び出し回数の上限に達した",
    "its time is over": "チームの持ち時間が終わった",
    "all rounds played": "全ラウンドを終えた",
    "target score reached": "目標の得点に達した",
    "no gain any more": "得点が伸びなくなった",
    "the budget's reserve is reached": "予算の残りが予備分に達した",
    "the judge sees no gain in another round": "次のラウンドでの向上は見込めないと判定された",
    "quotes are found in one round": "引用は1ラウンドで終わる",
    # Counted things
    "{count} question": "質問{count}件",
    "{count} team": "{count}チーム",
    "{count} source": "資料{count}件",
    "{count} document": "文書{count}件",
    "{count} character": "{count}文字",
    "{count} token": "{count}トークン",
    "{count} model call": "モデル呼び出し{count}回",
    "{count} run": "実行{count}件",
    "{count} text": "テキスト{count}件",
    "{count} file": "ファイル{count}件",
    "{count} prompt": "プロンプト{count}件",
    "{count} bullet": "教訓{count}件",
    "and {count} more": "ほか{count}件",
    # Models, cost, scores
    "quotes from your documents; no language model": "お手元の文書からの引用（言語モデルなし）",
    "Set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, and teams compete for a report.": (
        "OPENAI_API_KEY、または手元のサーバーなら OPENAI_BASE_URL を設定すると、チームがレポートを競います。"
    ),
    "model replies: {replies}": "モデルの応答: {replies}",
    "no model calls": "モデル呼び出しなし",
    "cost unknown": "費用不明",
    "{name} wins with {score}": "{name} が {score} で1位",
    "{name} comes first, unscored": "{name} が1位（未採点）",
    "no winner": "1位なし",
    # A run while it goes
    "Opening": "準備中",
    "Going on": "再開中",
    "Reading documents: {read} of {files}": "文書を読み込み中: {read} / {files}",
    "Competing": "競争中",
    "Making the report of the best": "最良のレポートを作成中",
    "Publishing the report": "レポートを公開中",
    "Learning from the run": "実行から学習中",
    "Waiting for a person": "人の回答待ち",
    "Stopping; Ctrl-C again ends at once": "停止中。もう一度 Ctrl-C を押すとすぐに終了します",
    "stopping; once more ends at once": "停止中。もう一度押すとすぐに終了します",
    "waits for a slot": "順番待ち",
    "starts": "開始",
    "plans": "計画中",
    "searches ({detail})": "検索中（{detail}）",
    "reads ({detail})": "読解中（{detail}）",
    "writes ({detail})": "執筆中（{detail}）",
    "reviews its draft ({detail})": "下書きを点検中（{detail}）",
    "reviewed: {detail}": "点検済み: {detail}",
    "is scored ({length})": "採点中（{length}）",
    "is judged: is another round worth it?": "次のラウンドの要否を判定中",
    "goes on": "続行",
    "done: {why}": "終了: {why}",
    "no reason given": "理由は不明",
    "asks a person: {what}": "人に確認: {what}",
    "plan": "計画",
    "report": "レポート",
    "playbook": "プレイブック",
    "playbook {dataset}, version {version}: {summary}": "プレイブック {dataset}、第{version}版: {summary}",
    # A run's events as lines
    "{teams} on {sources}": "{teams}、情報源 {sources}",
    "{source} is off ({reason})": "{source} は使えません（{reason}）",
    "source {source} is off from here on: {reason}": "情報源 {source} はここから使えません: {reason}",
    "read {read} of {documents}": "{documents}のうち {read} を読み込みました",
    "{team} starts": "{team} が開始",
    "round {number}": "第{number}ラウンド",
    "begins": "開始",
    "planned {detail}": "計画: {detail}",
    "found {detail}": "検索結果: {detail}",
    "chose {detail}": "選択: {detail}",
    "wrote {detail}": "執筆: {detail}",
    "submitted {length}": "{length}を提出",
    "quotes are not scored": "引用は採点しません",
    "scored {score}": "得点 {score}",
    "not said by what it cites: {sentences}": "引用元で確認できない文: {sentences}",
    "ends": "終了",
    "as {team}": "{team} と同じ",
    "published the report with {sources}": "{sources}のレポートを公開しました",
    "the merged report is published ({score})": "統合したレポートを公開します（{score}）",
    "the merged report is not better than the best team's ({score})": (
        "統合したレポートは最良のチームを上回りませんでした（{score}）"
    ),
    # Tables
    "Team": "チーム",
    "Teams": "チーム",
    "Best": "最高点",
    "Round": "回",
    "Round {number}": "第{number}ラウンド",
    "Rounds": "ラウンド",
    "Now": "現在",
    "End": "結果",
    "Why": "理由",
    "Thread": "スレッド",
    "Started": "開始",
    "Status": "状態",
    "Theme": "質問",
    "Model": "モデル",
    "Sources": "情報源",
    "Off": "使えません",
    "Used": "使用量",
    "Left out": "対象外",
    "Depth": "深さ",
    "Playbook": "プレイブック",
    "Calls": "呼び出し",
    "Tokens": "トークン",
    "Cost": "費用",
    "Limits": "上限",
    "Warning": "注意",
    "Metric": "指標",
    "Score": "得点",
    "Reason": "理由",
    "Value": "設定",
    "From": "設定元",
    "Prompt": "プロンプト",
    "Variables": "変数",
    "File": "ファイル",
    "yes": "はい",
    "no": "いいえ",
    # A run's end
    "Summary": "概要",
    "Quotes": "引用",
    "Next": "次は",
    "Report  {file}": "レポート  {file}",
    "--out {folder}: {why}; the report is in {place}": "--out {folder}: {why}。レポートは {place} にあります",
    "Nothing to do: thread {thread} is {status}.": "することはありません。スレッド {thread} は {status} です。",
    "stopped; go on with `{command}`": "停止しました。続けるには `{command}`",
    "stopped before the run began": "実行が始まる前に停止しました",
    "{reason}; then go on with `{command}`": "{reason}。その後 `{command}` で続けられます",
    # A batch
    "{completed} of {all} completed, {partial} partial; results in {file}": (
        "{all}件中{completed}件が完了、{partial}件が一部のみ完了。結果は {file}"
    ),
    "{reason}; the same command goes on": "{reason}。同じコマンドで続けられます",
    # A dry run
    "Dry run: nothing was spent or written.": "試し実行: 何も費やさず、何も書き込んでいません。",
    "the same command without --dry-run": "--dry-run を外した同じコマンド",
    "{depth}, length {length}": "{depth}、長さ {length}",
    "{least} to {most}": "{least}〜{most}",
    "{dataset} (read only)": "{dataset}（読み取りのみ）",
    "nothing: no model is asked": "なし（モデルは呼び出しません）",
    "nothing: no model calls": "なし（モデル呼び出しなし）",
    "{least} to {most} model calls": "モデル呼び出し {least}〜{most} 回",
    "roughly {least} to {most}": "およそ {least}〜{most}",
    "unknown: add the model's price under [prices] in config/models.toml": (
        "不明: config/models.toml の [prices] にモデルの単価を書いてください"
    ),
    # Runs on record
    "No runs yet in {folder}.": "{folder} にはまだ実行がありません。",
    "A process works on it.": "いま実行中のプロセスがあります。",
    "nobody works on it: the process ended": "プロセスが終わり、実行しているものはありません",
    "Wrote {file}.": "{file} に書き込みました。",
    "{runs}, {texts}, its checkpoints and its report": "{runs}、{texts}、チェックポイント、レポート",
    "Deleted thread {thread}: {what}.": "スレッド {thread} を削除しました: {what}。",
    "Copies of the report in other folders and lessons in the playbook are left.": (
        "ほかのフォルダーにあるレポートの写しと、プレイブックの教訓は残っています。"
    ),
    # Two runs side by side
    "Question": "質問",
    "Winner": "1位",
    "Criteria met": "満たした基準",
    "{met} of {all}": "{all}件中{met}件",
    "Cited by {name} only": "{name} だけが引用した資料",
    # A text that is scored
    "Overall {score}": "総合 {score}",
    "(quotes that are not in the text, and were dropped: {count})": "（本文にないため除いた引用: {count}件）",
    # The workspace
    "Wrote {count} into {folder}: {names}": "{folder} に{count}を書き込みました: {names}",
    "A file of the same name under {folder} takes a prompt's place.": (
        "{folder} に同じ名前のファイルを置くと、そのプロンプトに置き換わります。"
    ),
    # Playbooks
    "Playbook {dataset}, version {version}, {count}": "プレイブック {dataset}、第{version}版、{count}",
    "Playbook {dataset}, from version {first} to {last}:": "プレイブック {dataset}、第{first}版から第{last}版へ:",
    "Playbook {dataset}: {summary}, now version {now}.": "プレイブック {dataset}: {summary}。いまは第{now}版です。",
    "Playbook {dataset} is as it was in version {then}, now version {now}.": (
        "プレイブック {dataset} を第{then}版の内容に戻しました。いまは第{now}版です。"
    ),
    "No lesson fits: a run would start without any.": "当てはまる教訓がありません。実行は教訓なしで始まります。",
    "nothing differs": "違いはありません",
    "{count} lesson": "教訓{count}件",
    "{lessons} can be restored.": "{lessons}を元に戻せます。",
    "skipped {id}: {why}": "見送り {id}: {why}",
    "run {id}": "実行 {id}",
    "none": "なし",
    "none yet": "まだありません",
    "Version": "版",
    "Made": "日時",
    "By": "作成元",
    "Id": "ID",
    "Trust": "信頼度",
    "Votes": "評価",
    "Shown": "使用回数",
    "Difference": "効果",
    "Lesson": "教訓",
    "{shown}, withheld {withheld}": "{shown}、不使用 {withheld}",
    "on trial": "試用中",
    "harmful: not shown": "有害のため使いません",
    "differs from {id}": "{id} と食い違い",
    "a run wants it removed: {why}": "実行が削除を提案: {why}",
    # The doctor
    "Ready.": "準備ができています。",
    "Not ready: mend {checks}.": "準備ができていません。直すところ: {checks}",
    "see `contend config show` once it is mended": "直した後に `contend config show` で確かめてください",
    "{folder} (made by the first run)": "{folder}（最初の実行で作られます）",
    "{prompts} render in {languages}": "{prompts}が {languages} で展開できます",
    "mend the file, or delete it to have the shipped prompt back": (
        "ファイルを直すか、削除して付属のプロンプトに戻してください"
    ),
    "no OPENAI_API_KEY or OPENAI_BASE_URL: contend quotes from your documents, without a language model": (
        "OPENAI_API_KEY も OPENAI_BASE_URL もありません。言語モデルなしで、お手元の文書から引用します"
    ),
    "set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible server": (
        "OPENAI_API_KEY、または OpenAI 互換サーバーの OPENAI_BASE_URL を設定してください"
    ),
    "{command} to use the server found there ({server})": "{command} で、見つかったサーバーを使えます（{server}）",
    "replies recorded on {day} (model {model}) are played; no model is asked": (
        "{day} に記録した応答（モデル {model}）を再生します。モデルは呼び出しません"
    ),
    "{endpoint} has {models}": "{endpoint} に {models} があります",
    "say how much {models} can read: [context] in the workspace's config/models.toml": (
        "{models} が一度に読める量を、作業フォルダーの config/models.toml の [context] に書いてください"
    ),
    "{model}, not the writer's model": "{model}（執筆とは別のモデル）",
    "{kind}'s usual port: {models}": "{kind} の標準ポート: {models}",
    "no models": "モデルなし",
    "on": "使えます",
    "give --docs PATH to a run": "実行に --docs PATH を付けてください",
    "set TAVILY_API_KEY to search the web": "ウェブ検索には TAVILY_API_KEY を設定してください",
    "runs go on without it": "これがなくても実行できます",
    "mend {file}": "{file} を直してください",
    "no runs yet": "実行はまだありません",
    "memory: a run that is stopped cannot go on": "メモリー: 止めた実行は再開できません",
    "unset CONTEND_CHECKPOINTER to keep them in SQLite": "CONTEND_CHECKPOINTER を外すと SQLite に保存します",
    "SQLite, made by the first run": "SQLite（最初の実行で作られます）",
    "SQLite answers": "SQLite が応答します",
    "Redis at {address} answers, with search and JSON": "{address} の Redis が応答します（検索と JSON あり）",
    "`contend serve` opens the graphs in Studio": "`contend serve` でグラフを Studio に開けます",
    # The server and its page
    "the extra `serve` is not installed": "追加機能 `serve` が入っていません",
    "Serving the workspace {folder} on {address}, the live page at {address}/app/; Ctrl-C stops it.": (
        "作業フォルダー {folder} を {address} で、ページを {address}/app/ で公開しています。Ctrl-C で止まります。"
    ),
    "No browser was found on this machine: open the address above in one.": (
        "このマシンにブラウザーが見つかりません。上のアドレスをブラウザーで開いてください。"
    ),
    # Refusals: what, its value, the remedy
    "See `{command} --help`.": "`{command} --help` を見てください。",
    "{error}; a defect of contend's, details in {path}": "{error}。contend の不具合です。詳細は {path}",
    "{error}; a defect of contend's; its details could not be kept": (
        "{error}。contend の不具合です。詳細は保存できませんでした"
    ),
    "an output or file": "出力またはファイル",
    "mend its rights or its path": "権限かパスを直してください",
    "free disk space": "ディスクの空きを増やしてください",
    "raise the limit on file sizes (ulimit -f)": "ファイルサイズの上限を上げてください（ulimit -f）",
    "raise the limit on open files (ulimit -n)": "開けるファイル数の上限を上げてください（ulimit -n）",
    "name another folder, or make it writable": "別のフォルダーを指定するか、書き込めるようにしてください",
    "no runs yet: begin with `contend run THEME`, or give another --workspace": (
        "実行はまだありません。`contend run THEME` で始めるか、別の --workspace を指定してください"
    ),
    "thread {thread} has no run in {folder}: see `contend runs`, or give another --workspace": (
        "スレッド {thread} の実行は {folder} にありません。`contend runs` で確かめるか、--workspace を変えてください"
    ),
    "thread {name} may be one of {count} ({some}): give more of its id": (
        "スレッド {name} に当てはまるものが{count}件あります（{some}）。IDをもう少し長く指定してください"
    ),
    "thread {thread} has no report, its run is {status}: see `{command}`": (
        "スレッド {thread} にレポートがありません（実行の状態: {status}）。`{command}` で確かめてください"
    ),
    "--thread 'latest' names the newest run wherever a thread is asked for: give another id": (
        "--thread 'latest' は、どのコマンドでも最新の実行を指します。別のIDを指定してください"
    ),
    "compare: {one} and {other} are both thread {thread}: name two": (
        "compare: {one} と {other} は同じスレッド {thread} です。別の二つを指定してください"
    ),
    "dataset {dataset} has no playbook; there are: {known}": (
        "データセット {dataset} のプレイブックはありません。あるのは: {known}"
    ),
    "bullet {id}: {count} such lessons can be restored: name one of {names}": (
        "bullet {id}: 元に戻せる教訓が{count}件あります。次のどれか一つを指定してください: {names}"
    ),
    "edit: nothing to change: give new words, --section, --example, --always or --where-it-fits": (
        "edit: 変更がありません。新しい文、--section、--example、--always、--where-it-fits のどれかを指定してください"
    ),
    "{path} is a file: name a folder": "{path} はファイルです。フォルダーを指定してください",
    "{path} cannot be written: mend its rights or choose another folder": (
        "{path} に書き込めません。権限を直すか、別のフォルダーを指定してください"
    ),
    "{path} is there already: choose another folder, or overwrite with --force": (
        "{path} はすでにあります。別のフォルダーを指定するか、--force で上書きしてください"
    ),
    "{file}: cannot be read: {why}": "{file}: 読めません: {why}",
    "{file}: not UTF-8 text: save it as UTF-8": "{file}: UTF-8 のテキストではありません。UTF-8 で保存してください",
    "{file}: holds no question: give one on each line": "{file}: 質問がありません。1行に一つ書いてください",
    "{where}: no JSON ({why}): give an object with `theme`": (
        "{where}: JSON ではありません（{why}）。`theme` のあるオブジェクトを書いてください"
    ),
    "{where}: neither object nor text: give an object with `theme`": (
        "{where}: オブジェクトでも文字列でもありません。`theme` のあるオブジェクトを書いてください"
    ),
    "{where}: instructions stand there twice: leave out options.instructions": (
        "{where}: instructions が二つあります。options.instructions を外してください"
    ),
    "{where}: id = {id}: {first} has it too: give each its own": (
        "{where}: id = {id}: {first} と同じです。それぞれ別の id を付けてください"
    ),
    "{where}: the same as {first}: leave it out, or give it an `id`": (
        "{where}: {first} と同じです。この行を外すか、`id` を付けてください"
    ),
    "--out {file}: it holds other lines than results: name another file": (
        "--out {file}: 結果ではない行があります。別のファイルを指定してください"
    ),
    "--rounds {given}: give MIN:MAX, such as 1:3, or one number": (
        "--rounds {given}: 1:3 のような MIN:MAX か、一つの数を指定してください"
    ),
    "--out {file}: cannot be written: {why}": "--out {file}: 書き込めません: {why}",
    "--out {folder}: {file} of another run is there: name another folder, or move it away": (
        "--out {folder}: 別の実行の {file} があります。別のフォルダーを指定するか、移動してください"
    ),
    "give one of --approve, --edit, --reject; where several questions wait, --answer for each": (
        "--approve、--edit、--reject のどれか一つを指定してください。質問が複数あれば、それぞれに --answer を指定します"
    ),
    "--answer: {name} has two answers: give one": "--answer: {name} に回答が二つあります。一つにしてください",
    "--answer {given}: give QUESTION=approve, QUESTION=reject:WHY or QUESTION=edit:FILE": (
        "--answer {given}: QUESTION=approve、QUESTION=reject:WHY、QUESTION=edit:FILE のどれかを指定してください"
    ),
    "--edit {path}: neither JSON nor, as .toml, TOML: {why}": (
        "--edit {path}: JSON でも（.toml の）TOML でもありません: {why}"
    ),
    "--edit {path}: give an object with the edited values": (
        "--edit {path}: 編集した値のオブジェクトを指定してください"
    ),
    "{count} questions are open, and an edit or a reason fits one of them: {all} approves all, {each} answers each": (
        "質問が{count}件あり、編集や理由は一つにしか当てはまりません。{all} で全て承認、{each} でそれぞれに回答できます"
    ),
    "--host {host}: others could reach it; --expose allows it, with CONTEND_SERVER_TOKEN set": (
        "--host {host}: ほかのマシンから届きます。CONTEND_SERVER_TOKEN を設定し、--expose を付けると許可されます"
    ),
    "--expose: set CONTEND_SERVER_TOKEN to a secret that clients send, such as `{command}` prints": (
        "--expose: 利用者が送る秘密の値を CONTEND_SERVER_TOKEN に設定してください（`{command}` で作れます）"
    ),
    "--port {port}: no server answers at {address}: start `contend serve`": (
        "--port {port}: {address} で応答するサーバーがありません。`contend serve` を起動してください"
    ),
    "--port {port}: the server there has no page at {address}: is it `contend serve`?": (
        "--port {port}: そのサーバーに {address} のページがありません。`contend serve` か確かめてください"
    ),
}


class _Speech:
    """The language of this process's messages."""

    japanese = False
    for_programs = False


def speak_locale() -> None:
    """A command begins: its messages are in the locale's language until more is known."""
    _Speech.for_programs = False
    speak()


def speak(theme: str = "", language: str | None = None) -> None:
    """Japanese where the locale or the run's language is: the one that was chosen, else its question's."""
    of_run = _language_of(theme) if language in {None, "auto"} else language
    _Speech.japanese = not _Speech.for_programs and (_locale().startswith("ja") or of_run == "ja")


def _language_of(theme: str) -> str | None:
    """None of no text. Help needs none: what reads texts is imported where there is one."""
    if not theme:
        return None
    from contend.text import detect_language

    return detect_language(theme)


def speak_english() -> None:
    """For the rest of this command, whose output programs read."""
    _Speech.for_programs, _Speech.japanese = True, False


def _locale() -> str:
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    return next((value for name in names if (value := os.environ.get(name))), "")


def is_japanese() -> bool:
    return _Speech.japanese


def tr(message: str, /, **values: object) -> str:
    """The message in the language of this process, with its values; in English where it has no other."""
    known = JAPANESE.get(message, message) if _Speech.japanese else message
    return known.format(**values) if values else known
