"""Briefs as teams read them, with the tokens that a newer tokenizer (Qwen 2.5, 151,665 words) makes of each."""

BRIEFS = {
    "en": (
        """# Question

<question-1a2b3c4d>How does a run go on after a crash?</question-1a2b3c4d>

# Your rounds so far

- Round 1 (best) (latest): 64.0/100
  Handed in: <submission-1a2b3c4d>
# How does a run go on after a crash?

## Executive Summary

A run keeps a checkpoint after every step [1]. When the process is killed, the checkpoint holds the last \
finished step, and the command resume goes on from there [1][2].
</submission-1a2b3c4d>
  To improve: <feedback-1a2b3c4d>
coverage 55.0/100: The report says how a run goes on, and leaves open which calls are made again.
relevance 72.5/100: Each sentence helps to answer the question.
</feedback-1a2b3c4d>

# Ranking

- 🥇 <team-1a2b3c4d>Team 11</team-1a2b3c4d>: 54.0/100
- 🥈 <team-1a2b3c4d>Team 10</team-1a2b3c4d>: 53.0/100
- 🥉 <team-1a2b3c4d>Team 9</team-1a2b3c4d>: 52.0/100
- 4 <team-1a2b3c4d>Team 8</team-1a2b3c4d>: 51.0/100

Your team is in place 9 of 12, 8.0 points behind the first.

# Round 2

Hand in a better report than your best one. Keep what earned points. Mend first what the latest feedback names.

Now: 2026-05-04T03:02:01+00:00""",
        466,
    ),
    "ja": (
        """# 質問

<question-1a2b3c4d>強制終了の後、実行はどのように再開されますか。</question-1a2b3c4d>

# これまでのラウンド

- ラウンド1（最高）（最新）: 64.0/100
  提出: <submission-1a2b3c4d>
# 強制終了の後、実行はどのように再開されますか。

## 要約

実行の状態は各段階が終わるたびに保存されます[1]。再開コマンドはこの保存内容を読み込み、最後に終わった段階の次から続けます[1][2]。
</submission-1a2b3c4d>
  改善点: <feedback-1a2b3c4d>
coverage 55.0/100: 再開の仕組みは述べているが、やり直される呼び出しには触れていない。
relevance 72.5/100: どの文も質問への答えに役立つ。
</feedback-1a2b3c4d>

# 順位

- 🥇 <team-1a2b3c4d>Team 11</team-1a2b3c4d>: 54.0/100
- 🥈 <team-1a2b3c4d>Team 10</team-1a2b3c4d>: 53.0/100
- 🥉 <team-1a2b3c4d>Team 9</team-1a2b3c4d>: 52.0/100
- 4 <team-1a2b3c4d>Team 8</team-1a2b3c4d>: 51.0/100

自チームは12チーム中9位（首位との差は8.0点）。

# ラウンド2

自チームの最高のレポートを上回るものを提出する。点を得た部分は残す。最新の指摘から先に直す。

現在: 2026-05-04T03:02:01+00:00""",
        525,
    ),
}
