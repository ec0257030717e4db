from driftline.event_log.bad import BadEvent, BadInput


def test_bad_input_says_where_and_why() -> None:
    event = BadEvent("events.jsonl", 17, 'a cti needs "t"', b"{}")
    assert str(BadInput(event)) == 'events.jsonl:17: a cti needs "t"'
    assert BadInput(event).event is event
