/** What the page says, in both languages. A key names what is said; {name} stands for a value. */

const EN = {
  standings: "Standings", rating: "Rating", interval: "95 %", runs_played: "Runs", won: "Won", tied: "Tied", lost: "Lost", no_standings: "No finished run here has two teams to compare yet.",
  standings_clear: "{n} run{s}: {team} is ahead of the others by more than chance.", standings_unclear: "{n} run{s}: too few to tell the first from the second.", standings_how: "By Bradley and Terry's model on Elo's scale, 1500 the mean; 400 points ahead are ten wins to one.",
  ask: "Ask", history: "History", playbook: "Playbook", compare: "Compare", theme: "Theme", language: "日本語",
  light: "Light", dark: "Dark",
  question: "Your question", question_hint: "Several teams research it, judges score them, an editor merges the best. Up to 8,000 characters.",
  report_instructions: "Instructions for the report", instructions_hint: "Who reads it, what it must cover, which form it should have.",
  documents: "Documents on the server", documents_hint: "Files or folders of this server, one a line. Without any, and without files: what the workspace is set to.",
  depth: "Depth", length: "Length", report_language: "Language of the report", as_asked: "as the question", teams: "Teams",
  depth_auto: "auto: one team, more where needed", depth_quick: "quick: one team, a round and one that mends", depth_standard: "standard: three teams, editor", depth_deep: "deep: all teams, three rounds",
  length_default: "by depth", length_brief: "brief, about 500 words", length_standard: "standard, about 1,500 words", length_long: "long, about 3,500 words",
  limits: "Limits", max_usd: "At most US$", max_tokens: "At most tokens", max_minutes: "At most minutes", none: "none",
  approvals: "Ask me before", approve_plan: "searching (plans)", approve_report: "publishing (report)", approve_playbook: "learning (lessons)",
  more: "More options", dataset: "Playbook", dataset_hint: "Lessons are kept by this name.", learn: "Learn from this run", synthesis: "Let an editor merge the best reports",
  estimate: "Estimate", estimating: "Estimating …", start: "Start", starting: "Starting …", demo: "Recorded runs",
  demo_hint: "See what contend does. Search, checks and ranking are real; the model's replies are recorded. No key, no cost.",
  demo_contest: "Watch a contest", demo_contest_hint: "Three teams answer a ferry company's question from its twelve documents, judges score them, an editor merges the best.",
  demo_ja: "Watch a contest in Japanese", demo_ja_hint: "Two teams answer a hot-spring inn's question from its eight documents, judges score them, an editor merges the best.",
  demo_steps: "Watch a research in steps", demo_steps_hint: "One team answers six questions from a guide that its model cannot read whole: step by step it searches, finds words and reads sections.",
  examples: "For example:", example_decide: "What do these documents say has to be decided, by when, and at what cost?", example_differ: "Where do these documents contradict each other, and which is right?", example_know: "What should somebody new know first, and what is still open?",
  add_files: "Add files", drop_files: "or drop them here: PDF, Word, web pages, tables, text, up to 50 MB each", files: "Files", remove: "Remove", kilobytes: "{n} kB", sending: "Sending {name} …",
  show_contest: "Show step by step", shown: "recorded run", published: "Report published", play: "Play", pause: "Pause", play_again: "Play again", position: "Place", speed: "Speed", read_report: "Read the report",
  calls: "{low}–{high} model calls", tokens: "{low}–{high} tokens", usd: "US$ {low}–{high}", no_price: "no price known for this model",
  no_model: "No language model is set: contend searches your documents. Set OPENAI_API_KEY or OPENAI_BASE_URL for a contest.",
  show_all: "Show all", show_less: "Show less", asked: "Question", teams_hint: "None chosen: as many as the depth says.", quarantined: "on trial", n_ADD: "{n} added", n_UPDATE: "{n} changed", n_DELETE: "{n} removed",
  status: "Status", begun: "Started", newer: "Newer", note_started: "In the queue: it begins when a place is free.", note_opening: "Being checked and opened.", note_waiting: "It goes on when you have answered.",
  note_interrupted: "Nobody works on it. It goes on where it was; nothing is paid twice.", note_unbegun: "Stopped before it began; nothing is spent.", accepted: "accepted", note_closing: "The teams are done; the report is being made.",
  teams_done: "{done} of {n} team{s} done", decide_now: "Decide", ask_anew: "Ask anew", delete: "Delete", delete_sure: "Delete this run for good: its report, its drafts, its scores? Lessons stay.", not_begun: "not begun",
  unreachable: "the server does not answer",
  recent: "Recent runs", no_runs: "No run yet.", all_runs: "All runs", search_runs: "Search questions", loading: "Loading …", token: "The server's token (CONTEND_SERVER_TOKEN)", older: "Older",
  watch: "Watch", read: "Report", judges: "Judges", cancel: "Stop", again: "Ask again", resume: "Go on",
  started: "starting", processing: "running", completed: "done", failed: "failed", interrupted: "stopped", waiting: "waits for you", partial: "partly done",
  working: "working", done: "done", forfeited: "forfeited", timeout: "out of time", queued: "in the queue",
  leaderboard: "Leaderboard", rank: "#", team: "Team", best: "Best", round_n: "Round {n}", now: "Now", no_scores: "no score yet", unscored: "unscored",
  part_open: "open", part_partly: "partly", part_answered: "answered", part_not_found: "not found", part_passages: "{n} passage{s}", part_missing: "missing: {what}", parts: "Parts of the question",
  held: "holds {n} passage{s}: {tokens} of {room} tokens", actions: "Actions", thoughts: "Steps", kind_search: "search", kind_find: "find", kind_read: "read",
  published_merge: "Published: editor's merge {score}; best team {team} {best}", editors_merge: "editor's merge", best_team: "Best team", report_of: "Report of", rounds: "Rounds",
  plan: "Plan", search: "Search", research: "Research", write: "Draft", review: "Review", graph: "Graph", revise: "Revision", submitted: "Handed in", scored: "Score", judged: "Decision",
  editor: "Editor", editor_published: "The merged report is chosen: it scored {score}, the best team's {best}.", editor_kept: "The merged report scored {score}, the best team's {best}: the team's is chosen.", editor_none: "The reports are not merged: a limit was reached.", editor_preferred: "Judges preferred the merged report, and it is chosen: it scored {score}, the best team's {best}.", editor_not_preferred: "Judges preferred the best team's report, and it is chosen: it scored {best}, the merged one {score}.",
  taken: "Taken from {team}: {what}", points: "Points", queries: "Searches", sources: "Sources", read_draft: "Read the draft", read_review: "Read the review", plan_counts: "points: {points}, searches: {queries}", characters: "{n} character{s}",
  source_off: "{source} is off: {reason}", documents_read: "documents read: {read} of {files}", files_left_out: "Left out of the documents, and no part of the answer: {files}", learned: "Learned", winner: "Winner", criteria: "Criteria", criterion: "Criterion", met: "met", partly: "partly met", unmet: "not met",
  another_round: "another round", stops: "stops", tokens_used: "{n} token{s}", calls_used: "{n} call{s}", cost: "US$ {n}", cached: "{share} % of the input cached", elapsed: "{time}", ends_about: "ends about {time}",
  why_max_tokens: "the tokens are used up", why_max_usd: "the money is used up", why_max_minutes: "the minutes are used up", why_max_calls: "the calls are used up", why_deadline: "the team's time is over",
  why_criteria_met: "nothing is left to mend", why_max_rounds: "all rounds played", why_target_score: "target score reached", why_plateau: "no gain any more", why_budget_reserve: "the budget's reserve is reached", why_one_round: "a search has one round", why_failed: "the team failed",
  decide: "A decision waits for you", decide_n: "{n} decisions wait for you", decide_plan: "approve the plan?", decide_report: "publish this report?", decide_playbook: "keep these lessons?", approve: "Approve", approve_all: "Approve all", edit: "Edit", reject: "Reject", send: "Send",
  reason_plan: "Why? The team plans anew with it.", reason_report: "What is to be mended? It is revised once, and you are asked again. Left empty, the run ends without a report.", reason_playbook: "Why? The playbook stays as it is.",
  edit_hint: "Change the values; they are held to the same limits.", send_answers: "Send answers",
  outline: "Outline", close: "Close",
  export: "Save as", no_report: "No report yet.", print: "Print",
  metric: "Metric", score: "Score", why: "Why",
  scores_by_round: "Scores by round", merge: "Merge", time_line: "Time line", times_replayed: "Times are of the replay, whose models answer at once.", phase_plan: "plan", phase_search: "search", phase_write: "write", phase_judge: "judge", seconds: "{n} s", why_ended: "Why it ended", best_is: "Best team: {team}, {score}",
  scores_by_metric: "Scores", met_by_all: "Met by all: {n}", heat_hint: "Of 100. Choose a number to read the judge's reasons.", effects: "Effect of lessons in points, where runs tried both with and without, and its 95 % interval",
  effect: "teams with it scored {difference} in {n} run{s} that tried both",
  versus: "Compared with", choose_run: "Choose a run", only_here: "Sources only this run has", both: "Sources of both: {n}", versions: "Versions", version: "Version {n}",
  merge_changes: "What changed from the best team's report to the merge", changed_statements: "Changed statements", statements_common: "Word for word in both: {n}", statements_changed: "In both, in other words: {n}", statements_only: "Only in {name}: {n}",
  lessons: "{n} lesson{s}", helpful: "helpful", harmful: "harmful", no_lessons: "No lessons yet: contend writes some after a contest.",
  section: "Section", lesson: "Lesson", lesson_hint: "When it applies, and what to do then.", example: "A short example", always: "applies to every question", trust: "trust", active: "active",
  add_lesson: "Add a lesson", add: "Add", save: "Save", undo_edit: "Cancel", retire: "Retire", restore: "Restore", retired: "Retired lessons: {n}", conflicts: "differs from {id}", wants_removed: "a run wants it removed: {why}",
  saved_version: "Saved as version {n}.", stands_already: "It stands in the playbook already.", nothing_changed: "Nothing changed.",
  old_version: "This is version {n}; the newest is version {newest}.", show_newest: "Show the newest", undo: "Undo", go_back: "Go back to this version", what_changed: "What changed", nothing_differs: "Nothing differs.", older_versions: "Older versions: {n}",
  way_run: "learned from a run", way_add: "added by hand", way_edit: "edited by hand", way_remove: "removed by hand", way_restore: "restored by hand", way_import: "imported from {what}", way_back: "rolled back to version {n}",
  other_playbook: "Another playbook", open: "Open",
  connection_lost: "The connection was lost; trying again …", error: "That did not work: {why}", not_found: "There is nothing here.",
  recorded: "The model's replies in this run are not live: ",
  investigation_points: "Points", search_queries: "Searches", plan_text: "Plan", executive_summary: "Summary", key_findings: "Key findings", detailed_analysis: "Analysis", constraints_and_challenges: "Constraints and challenges", operations: "Changes", source_priority: "Order of sources",
  citation_support: "citations say so", citation_validity: "citations retrieved", clarity_coherence: "clarity", point_coverage: "points answered",
  correctness: "correctness", coverage: "coverage", insight: "insight", instructions: "reader's wishes",
};

const JA = {
  standings: "通算成績", rating: "レーティング", interval: "95%区間", runs_played: "実行", won: "勝", tied: "分", lost: "敗", no_standings: "2チーム以上を比べられる終了した実行はまだありません。",
  standings_clear: "実行{n}件: {team} が他のチームを上回っており、偶然の差とは考えにくい結果です。", standings_unclear: "実行{n}件: 1位と2位を区別するには足りません。", standings_how: "ブラッドリー・テリーモデルによる値をイロレーティングの尺度で示します。平均は1500、400点差は10勝1敗に相当します。",
  ask: "質問", history: "履歴", playbook: "プレイブック", compare: "比較", theme: "配色", language: "English",
  light: "ライト", dark: "ダーク",
  question: "質問", question_hint: "複数のチームが調べ、審査員が採点し、編集者が最良の部分をまとめます。8,000文字まで。",
  report_instructions: "レポートへの要望", instructions_hint: "誰が読むか、何を扱うか、どのような形にするか。",
  documents: "サーバー上の文書", documents_hint: "このサーバー上のファイルまたはフォルダー。1行に1つ。ここにもファイルにも指定がなければ、ワークスペースの設定に従います。",
  depth: "深さ", length: "長さ", report_language: "レポートの言語", as_asked: "質問と同じ", teams: "チーム",
  depth_auto: "auto: 1チーム、必要なら追加", depth_quick: "quick: 1チーム、1ラウンドと手直し", depth_standard: "standard: 3チームと編集者", depth_deep: "deep: 全チーム、3ラウンド",
  length_default: "深さに合わせる", length_brief: "短い（約1,000字）", length_standard: "標準（約3,000字）", length_long: "長い（約7,000字）",
  limits: "上限", max_usd: "金額の上限（US$）", max_tokens: "トークンの上限", max_minutes: "時間の上限（分）", none: "なし",
  approvals: "確認が必要な段階", approve_plan: "検索の前（計画）", approve_report: "公開の前（レポート）", approve_playbook: "学習の前（教訓）",
  more: "詳しい設定", dataset: "プレイブック", dataset_hint: "教訓はこの名前で保存されます。", learn: "この実行から学習する", synthesis: "編集者が最良のレポートをまとめる",
  estimate: "見積もり", estimating: "見積もり中…", start: "開始", starting: "開始中…", demo: "記録済みの実行",
  demo_hint: "contendの動きを見られます。検索・検証・順位付けは実際に行い、モデルの返答だけは記録を再生します。APIキーも費用も不要です。",
  demo_contest: "コンテストを見る", demo_contest_hint: "3つのチームがフェリー会社の12の文書から質問に答え、審査員が採点し、編集者が最良の部分をまとめます。",
  demo_ja: "コンテストを見る", demo_ja_hint: "2つのチームが温泉旅館の8つの文書から質問に答え、審査員が採点し、編集者が最良の部分をまとめます。",
  demo_steps: "段階的な調査を見る（英語）", demo_steps_hint: "モデルが一度に読みきれない手引きをもとに、1つのチームが6つの質問に答えます。検索し、語句を探し、節を読む作業を一段ずつ重ねます。",
  examples: "質問の例:", example_decide: "これらの文書では、何を、いつまでに、いくらで決める必要がありますか。", example_differ: "これらの文書が食い違う点はどこで、どれが正しいですか。", example_know: "初めての人がまず知るべきことと、まだ決まっていないことは何ですか。",
  add_files: "ファイルを追加", drop_files: "またはここにドロップ（PDF、Word、ウェブページ、表、テキスト。1件50MBまで）", files: "ファイル", remove: "外す", kilobytes: "{n} kB", sending: "{name} を送信中…",
  show_contest: "順を追って見る", shown: "記録済みの実行", published: "レポートを公開", play: "再生", pause: "一時停止", play_again: "もう一度再生", position: "位置", speed: "速さ", read_report: "レポートを読む",
  calls: "モデル呼び出し {low}〜{high}回", tokens: "{low}〜{high}トークン", usd: "US$ {low}〜{high}", no_price: "このモデルの単価は不明です",
  no_model: "言語モデルが設定されていないため、文書を検索するだけです。チームを競わせるにはOPENAI_API_KEYまたはOPENAI_BASE_URLを設定してください。",
  show_all: "すべて表示", show_less: "折りたたむ", asked: "質問", teams_hint: "選ばなければ、深さに応じた数のチームが参加します。", quarantined: "試用中", n_ADD: "追加{n}件", n_UPDATE: "変更{n}件", n_DELETE: "削除{n}件",
  status: "状態", begun: "開始", newer: "新しい実行", note_started: "待ち行列に入っています。空きができ次第始まります。", note_opening: "内容を確かめて準備しています。", note_waiting: "回答すると続きます。",
  note_interrupted: "現在は停止しています。途中から再開でき、二重の費用はかかりません。", note_unbegun: "始まる前に停止しました。費用はかかっていません。", accepted: "修正の必要なし", note_closing: "チームの作業は終わり、レポートを作成しています。",
  teams_done: "{n}チーム中{done}チーム完了", decide_now: "判断する", ask_anew: "改めて質問", delete: "削除", delete_sure: "この実行のレポート、下書き、得点を完全に削除しますか。教訓は残ります。", not_begun: "未開始",
  unreachable: "サーバーが応答しません",
  recent: "最近の実行", no_runs: "まだ実行はありません。", all_runs: "すべての実行", search_runs: "質問を検索", loading: "読み込み中…", token: "サーバーのトークン（CONTEND_SERVER_TOKEN）", older: "以前の実行",
  watch: "経過", read: "レポート", judges: "審査", cancel: "停止", again: "続けて質問", resume: "再開",
  started: "開始中", processing: "実行中", completed: "完了", failed: "失敗", interrupted: "停止", waiting: "回答待ち", partial: "一部完了",
  working: "作業中", done: "完了", forfeited: "棄権", timeout: "時間切れ", queued: "待機中",
  leaderboard: "順位表", rank: "順位", team: "チーム", best: "最高", round_n: "第{n}ラウンド", now: "現在", no_scores: "採点前", unscored: "未採点",
  part_open: "未着手", part_partly: "一部", part_answered: "回答あり", part_not_found: "記載なし", part_passages: "抜粋{n}件", part_missing: "不足: {what}", parts: "質問の項目",
  held: "抜粋{n}件を保持: {room}トークン中{tokens}トークン", actions: "調べた内容", thoughts: "各段階", kind_search: "検索", kind_find: "語句検索", kind_read: "閲読",
  published_merge: "公開: 編集者の統合レポート {score}、最良のチーム {team} {best}", editors_merge: "編集者の統合レポート", best_team: "最良のチーム", report_of: "レポート", rounds: "各ラウンド",
  plan: "計画", search: "検索", research: "調査", write: "下書き", review: "査読", graph: "グラフ", revise: "改稿", submitted: "提出", scored: "得点", judged: "続行の判定",
  editor: "編集者", editor_published: "統合したレポートを採用しました（{score}点、最良のチームは{best}点）。", editor_kept: "統合したレポートは{score}点、最良のチームは{best}点だったため、チームのものを採用しました。", editor_none: "上限に達したため、レポートは統合しませんでした。", editor_preferred: "審査員が統合したレポートを選び、それを採用しました（{score}点、最良のチームは{best}点）。", editor_not_preferred: "審査員が最良のチームのレポートを選び、それを採用しました（{best}点、統合したレポートは{score}点）。",
  taken: "{team}から採用: {what}", points: "論点", queries: "検索語", sources: "情報源", read_draft: "下書きを読む", read_review: "査読を読む", plan_counts: "論点{points}件、検索{queries}件", characters: "{n}文字",
  source_off: "{source}は使えません: {reason}", documents_read: "文書 {files}件中{read}件を読み込み", files_left_out: "次の文書は検索できず、回答に含まれません: {files}", learned: "学習", winner: "勝者", criteria: "評価基準", criterion: "基準", met: "達成", partly: "一部達成", unmet: "未達成",
  another_round: "次のラウンドへ", stops: "終了", tokens_used: "{n}トークン", calls_used: "呼び出し{n}回", cost: "US$ {n}", cached: "入力の{share}%はキャッシュ", elapsed: "{time}", ends_about: "{time}ごろ終了予定",
  why_max_tokens: "トークンの上限に達した", why_max_usd: "費用の上限に達した", why_max_minutes: "実行時間の上限に達した", why_max_calls: "呼び出し回数の上限に達した", why_deadline: "チームの持ち時間が終わった",
  why_criteria_met: "直すところが残っていない", why_max_rounds: "全ラウンドを終えた", why_target_score: "目標の得点に達した", why_plateau: "得点が伸びなくなった", why_budget_reserve: "予算の残りが予備分に達した", why_one_round: "検索は1ラウンドで終わる", why_failed: "チームが失敗した",
  decide: "判断待ちの質問があります", decide_n: "判断待ちの質問が{n}件あります", decide_plan: "この計画を承認しますか", decide_report: "このレポートを公開しますか", decide_playbook: "この教訓を残しますか", approve: "承認", approve_all: "すべて承認", edit: "編集", reject: "却下", send: "送信",
  reason_plan: "理由（これを踏まえて計画し直します）", reason_report: "直すべきこと（一度書き直して、もう一度おたずねします。空のままならレポートなしで終了します）", reason_playbook: "理由（プレイブックは変わりません）",
  edit_hint: "値を変えてください。同じ制限で検査されます。", send_answers: "回答を送信",
  outline: "目次", close: "閉じる",
  export: "保存形式", no_report: "レポートはまだありません。", print: "印刷",
  metric: "指標", score: "得点", why: "理由",
  scores_by_round: "ラウンドごとの得点", merge: "統合", time_line: "時間の流れ", times_replayed: "再生時の時間です。モデルの返答には待ち時間がありません。", phase_plan: "計画", phase_search: "検索", phase_write: "執筆", phase_judge: "審査", seconds: "{n}秒", why_ended: "終了の理由", best_is: "最良のチーム: {team}（{score}点）",
  scores_by_metric: "得点", met_by_all: "すべてが達成: {n}件", heat_hint: "100点満点。数字を選ぶと審査員の理由を読めます。", effect: "この教訓の有無を比べた{n}件の実行で、使ったチームの得点差は{difference}",
  effects: "教訓の有無を比べた実行での得点差と、その95%区間",
  versus: "比較相手", choose_run: "実行を選ぶ", only_here: "この実行だけの情報源", both: "共通の情報源: {n}件", versions: "版", version: "第{n}版",
  merge_changes: "最良のチームのレポートから統合レポートへの変更点", changed_statements: "変わった記述", statements_common: "両方に同じ文言である記述: {n}件", statements_changed: "両方にあり、文言が異なる記述: {n}件", statements_only: "{name} だけにある記述: {n}件",
  lessons: "教訓{n}件", helpful: "有用", harmful: "有害", no_lessons: "教訓はまだありません。コンテストの後に書かれます。",
  section: "区分", lesson: "教訓", lesson_hint: "いつ当てはまり、何をするか。", example: "短い例", always: "すべての質問に当てはまる", trust: "信頼度", active: "有効",
  add_lesson: "教訓を追加", add: "追加", save: "保存", undo_edit: "取り消し", retire: "取り下げ", restore: "戻す", retired: "取り下げた教訓: {n}件", conflicts: "{id} と食い違い", wants_removed: "実行が削除を提案: {why}",
  saved_version: "第{n}版として保存しました。", stands_already: "すでにプレイブックにあります。", nothing_changed: "変更はありません。",
  old_version: "これは第{n}版です。最新は第{newest}版です。", show_newest: "最新を表示", undo: "元に戻す", go_back: "この版に戻す", what_changed: "変更点", nothing_differs: "違いはありません。", older_versions: "以前の版: {n}件",
  way_run: "実行から学習", way_add: "手で追加", way_edit: "手で変更", way_remove: "手で削除", way_restore: "手で復元", way_import: "{what} から取り込み", way_back: "第{n}版に復帰",
  other_playbook: "別のプレイブック", open: "開く",
  connection_lost: "接続が切れました。再接続しています…", error: "うまくいきませんでした: {why}", not_found: "ここには何もありません。",
  recorded: "この実行でのモデルの返答は、その場で得たものではありません: ",
  investigation_points: "論点", search_queries: "検索語", plan_text: "計画", executive_summary: "概要", key_findings: "主な発見", detailed_analysis: "詳細な分析", constraints_and_challenges: "制約と課題", operations: "変更", source_priority: "情報源の順序",
  citation_support: "引用の裏付け", citation_validity: "引用元の実在", clarity_coherence: "明瞭さ", point_coverage: "論点への回答",
  correctness: "正確さ", coverage: "網羅性", insight: "洞察", instructions: "要望への対応",
};

const WORDS = { en: EN, ja: JA };

let current = localStorage.getItem("language") ?? (navigator.language.startsWith("ja") ? "ja" : "en");

export const language = () => current;

export function setLanguage(value) {
  current = value;
  localStorage.setItem("language", value);
}

/**
 * What `key` says in the reader's language; an unknown key, say a status of a later version, as it is.
 * {s} is the ending of what is counted by {n}.
 */
export function t(key, values = {}) {
  const text = WORDS[current][key] ?? key;
  const all = { s: String(values.n) === "1" ? "" : "s", ...values };
  return text.replace(/\{(\w+)\}/g, (whole, name) => all[name] ?? whole);
}

/** A name of the data, such as a metric's, in the reader's words where there are some. */
export const shownName = (name) => (name in WORDS[current] ? t(name) : name.replaceAll("_", " "));

export const number = (value) => new Intl.NumberFormat(current).format(value);
export const percent = (score) => (score === null || score === undefined ? "–" : (score * 100).toFixed(1));
export const when = (time) => new Date(time).toLocaleString(current, { dateStyle: "medium", timeStyle: "short" });
export const clock = (time) => new Date(time).toLocaleTimeString(current, { timeStyle: "short" });

/** Seconds as 1:05 or 1:02:03. */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const fromHours = parts[0] ? parts : parts.slice(1);
  return fromHours.map((part, place) => (place ? String(part).padStart(2, "0") : part)).join(":");
}
