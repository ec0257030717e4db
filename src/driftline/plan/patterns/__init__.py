"""Row patterns in plans: MATCH_RECOGNIZE, from text to a node.

reading        the text of PATTERN as a pattern of `driftline.model.patterns`
navigation     expressions over the rows of a match: FIRST, LAST, PREV, NEXT, aggregates
conditions     DEFINE and MEASURES from SQL to such expressions
    building       the node from its clauses;  texts: these as Python gives them
"""
