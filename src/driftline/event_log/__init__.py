"""The event log: JSON Lines, one event a line, arrival order is line order.

reader         reads logs into columns, from `source` (files, compressed files, standard input)
scan           a kernel that reads the envelope of every event;  json_kernel: the tokens of JSON;
               iso: times;  base64: BINARY
rows           the rows of one stream, from JSON text to Arrow columns;  arrow_json: Arrow's reader
types          the types of columns, which the rows settle;  fields: single values put right
values         what the values of a column are declared to be
explain        the exact reader of one line, which finds what is wrong with it
bad            events that cannot be taken;  deadletters: the file that collects them
writer         writes streams as a log;  text: Arrow columns as JSON text;  few_lines: a few events
               without Arrow
atomic         files that are there in full or not at all
apart          refuses outputs that are inputs, or that are written twice
"""
