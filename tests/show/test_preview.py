from toolkit import show
from toolkit.show.preview import explorer_figure


def test_the_still_picture_says_the_sentences_of_the_setting():
    explorer = show.explore_design(epsilon=1.0, n=500, prevalence=0.2)
    figure = explorer_figure(explorer.table, explorer.row, explorer.prevalence, explorer.n)
    shown = " ".join(" ".join(text.get_text().split()) for ax in figure.axes for text in ax.texts)
    assert [said for said in explorer.describe().values() if said not in shown] == []
