"""What lessons say, in contend's own words: nothing in a playbook comes from a source."""

from typing import NamedTuple

from contend.models.record import Language
from contend.text import shorten


class Lesson(NamedTuple):
    """`seen` are the numbers behind it; the rest is general."""

    seen: str
    flaw: str
    cause: str
    approach: str
    insight: str

    def reply(self) -> dict[str, str]:
        return {
            "reasoning": shorten(self.seen, 400),
            "error_identification": self.flaw,
            "root_cause_analysis": self.cause,
            "correct_approach": self.approach,
            "key_insight": self.insight,
        }


WEAK_METRICS: dict[Language, dict[str, Lesson]] = {
    "en": {
        "coverage": Lesson(
            "Best rounds reached {share} % on coverage.",
            "Some points of the plan stayed without an answer.",
            "Queries made of the whole question find the same passages again and again.",
            "Search once for each point of the plan, in the point's own words, and answer each in a finding.",
            "Coverage is the weak side here: plan one query and one finding for each part of the question.",
        ),
        "relevance": Lesson(
            "Best rounds reached {share} % on relevance.",
            "Many sentences were far from the question.",
            "Passages were quoted for their general subject instead of for the question.",
            "Prefer sentences that share key terms with the question or with one of its points.",
            "Relevance is the weak side here: keep only sentences that take up the question's key terms.",
        ),
        "clarity_coherence": Lesson(
            "Best rounds reached {share} % on clarity and coherence.",
            "Sentences were repeated, broken or without a link to their neighbours.",
            "Sentences of different passages were put side by side.",
            "Keep sentences of one document together, in their order, and say each thing once.",
            "Clarity is the weak side here: group sentences by document and repeat none across the sections.",
        ),
        "citation_support": Lesson(
            "Best rounds reached {share} % on citation support.",
            "Cited passages did not say what the sentence says.",
            "A sentence drew on more than the passage it names.",
            "Cite only the passage whose words carry the sentence.",
            "Citations carry too little here: stay close to the wording of the passage that is cited.",
        ),
        "": Lesson(
            "Best rounds reached {share} % on {metric}.",
            "The metric {metric} stayed below the others.",
            "Nothing in the plan aimed at it.",
            "Look at what {metric} asks for before the plan is made, and give it a point of its own.",
            "The metric {metric} is the weak side here: plan for it from the first round.",
        ),
    },
    "ja": {
        "coverage": Lesson(
            "最良のラウンドの網羅は{share}%。",
            "計画の一部の項目に答えがなかった。",
            "問い全体で作った検索語は、同じ箇所ばかりを見つける。",
            "項目ごとに、その項目の語で一度ずつ検索し、発見の節で一つずつ答える。",
            "網羅が弱い: 問いの部分ごとに検索語を一つ、項目ごとに発見を一つ計画する。",
        ),
        "relevance": Lesson(
            "最良のラウンドの関連は{share}%。",
            "問いから遠い文が多かった。",
            "問いではなく一般的な話題の近さで引用した。",
            "問いまたは項目のキーワードを含む文を選ぶ。",
            "関連が弱い: 問いのキーワードを取り上げる文だけを残す。",
        ),
        "clarity_coherence": Lesson(
            "最良のラウンドの明快さは{share}%。",
            "文の重複や断片、つながらない並びがあった。",
            "別々の箇所の文を隣り合わせに置いた。",
            "同じ文書の文を元の順にまとめ、同じことは一度だけ述べる。",
            "明快さが弱い: 文を文書ごとにまとめ、節の間で同じ文を繰り返さない。",
        ),
        "citation_support": Lesson(
            "最良のラウンドの引用の裏付けは{share}%。",
            "引用元が文の内容を述べていなかった。",
            "示した箇所より広い内容を書いた。",
            "文の内容を述べている箇所だけを引用する。",
            "引用の裏付けが弱い: 引用する箇所の言い回しから離れない。",
        ),
        "": Lesson(
            "最良のラウンドの{metric}は{share}%。",
            "指標{metric}が他より低かった。",
            "計画にこの指標への備えがなかった。",
            "計画の前に{metric}が求めるものを確かめ、項目を一つ割り当てる。",
            "指標{metric}が弱い: 最初のラウンドから計画に入れる。",
        ),
    },
}
GAINED: dict[Language, Lesson] = {
    "en": Lesson(
        "{team} rose from {before:.1f} to {after:.1f} of 100 in one round; {metric} rose most.",
        "",
        "What the round before left open was searched for and added.",
        "Start the next round from what is uncovered and keep the sentences that were good.",
        "A further round pays here when it searches for the points left open: {metric} rises most.",
    ),
    "ja": Lesson(
        "{team}は1ラウンドで100点中{before:.1f}から{after:.1f}に上がり、{metric}が最も伸びた。",
        "",
        "前のラウンドで残った項目を検索して加えた。",
        "次のラウンドは未回答の項目から始め、良い文は残す。",
        "残った項目を検索すれば次のラウンドに効果がある: {metric}が最も伸びる。",
    ),
}
FLAT: dict[Language, Lesson] = {
    "en": Lesson(
        "{flat} of {teams} teams ended without a gain in their last round.",
        "Later rounds repeated the earlier ones.",
        "The same queries found the same passages.",
        "Change the queries of a further round, or stop.",
        "Further rounds bring no gain here unless their queries differ from those of the first round.",
    ),
    "ja": Lesson(
        "{teams}チーム中{flat}チームは最後のラウンドで伸びなかった。",
        "後のラウンドが前のラウンドの繰り返しだった。",
        "同じ検索語が同じ箇所を見つけた。",
        "次のラウンドでは検索語を変えるか、終える。",
        "最初のラウンドと検索語を変えない限り、ラウンドを重ねても伸びない。",
    ),
}
WON: dict[Language, Lesson] = {
    "en": Lesson(
        "{team} won with {best:.1f} of 100 and {most} different queries; {last} had {worst:.1f} with {least}.",
        "The weaker team searched too narrowly.",
        "Fewer different queries reach fewer documents.",
        "Vary the queries: the question, its key terms, and one query for each point.",
        "More different queries go with better scores here: vary them instead of rewording the question.",
    ),
    "ja": Lesson(
        "{team}は検索語{most}個、100点中{best:.1f}で勝ち、{last}は{least}個で{worst:.1f}だった。",
        "弱いチームの検索は狭すぎた。",
        "検索語の種類が少ないと届く文書も少ない。",
        "問い、キーワード、項目ごとの検索語と、種類を増やす。",
        "検索語の種類が多いほど点が高い: 問いの言い換えより種類を増やす。",
    ),
}
