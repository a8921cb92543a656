'use strict'
// The messages of OTLP logs as protobuf has them: the number of each field, and how its value is stored. Readers and
// writers share this. Names are those of the JSON encoding.
// https://github.com/open-telemetry/opentelemetry-proto (logs, common, resource, collector/logs), version 1.11

const WIRE = Object.freeze({ varint: 0, fixed64: 1, sized: 2, groupBegin: 3, groupEnd: 4, fixed32: 5 })

/**
 * What stands before a value: its field and its wire type.
 * @template {string} Name
 * @param {Record<Name, [number, keyof typeof WIRE]>} fields
 * @returns {Readonly<Record<Name, number>>}
 */
function message (fields) {
  const entries = /** @type {Array<[Name, [number, keyof typeof WIRE]]>} */ (Object.entries(fields))
  const tags = entries.map(([name, [field, wire]]) => [name, field << 3 | WIRE[wire]])
  return Object.freeze(Object.fromEntries(tags))
}

/** @param {Readonly<Record<string, number>>} tags */
function fieldsOf (tags) {
  return Object.values(tags).reduce((bits, tag) => bits | 1 << (tag >>> 3), 0)
}

exports.WIRE = WIRE

exports.REQUEST = message({ resourceLogs: [1, 'sized'] })
exports.RESOURCE_LOGS = message({ resource: [1, 'sized'], scopeLogs: [2, 'sized'], schemaUrl: [3, 'sized'] })
exports.RESOURCE = message({ attributes: [1, 'sized'], droppedAttributesCount: [2, 'varint'] })
exports.SCOPE_LOGS = message({ scope: [1, 'sized'], logRecords: [2, 'sized'], schemaUrl: [3, 'sized'] })
exports.SCOPE = message({
  name: [1, 'sized'],
  version: [2, 'sized'],
  attributes: [3, 'sized'],
  droppedAttributesCount: [4, 'varint']
})
exports.LOG_RECORD = message({
  timeUnixNano: [1, 'fixed64'],
  severityNumber: [2, 'varint'],
  severityText: [3, 'sized'],
  body: [5, 'sized'],
  attributes: [6, 'sized'],
  droppedAttributesCount: [7, 'varint'],
  flags: [8, 'fixed32'],
  traceId: [9, 'sized'],
  spanId: [10, 'sized'],
  observedTimeUnixNano: [11, 'fixed64'],
  eventName: [12, 'sized']
})
exports.KEY_VALUE = message({ key: [1, 'sized'], value: [2, 'sized'] })
exports.ANY_VALUE = message({
  stringValue: [1, 'sized'],
  boolValue: [2, 'varint'],
  intValue: [3, 'varint'],
  doubleValue: [4, 'fixed64'],
  arrayValue: [5, 'sized'],
  kvlistValue: [6, 'sized'],
  bytesValue: [7, 'sized']
})
/** ArrayValue and KeyValueList. */
exports.LIST = message({ values: [1, 'sized'] })
exports.RESPONSE = message({ partialSuccess: [1, 'sized'] })
exports.PARTIAL_SUCCESS = message({ rejectedLogRecords: [1, 'varint'], errorMessage: [2, 'sized'] })
exports.STATUS = message({ code: [1, 'varint'], message: [2, 'sized'] })

/** The fields of each message, a bit for each. */
exports.FIELDS = Object.freeze({
  request: fieldsOf(exports.REQUEST),
  resourceLogs: fieldsOf(exports.RESOURCE_LOGS),
  resource: fieldsOf(exports.RESOURCE),
  scopeLogs: fieldsOf(exports.SCOPE_LOGS),
  scope: fieldsOf(exports.SCOPE),
  logRecord: fieldsOf(exports.LOG_RECORD),
  keyValue: fieldsOf(exports.KEY_VALUE),
  anyValue: fieldsOf(exports.ANY_VALUE),
  list: fieldsOf(exports.LIST),
  response: fieldsOf(exports.RESPONSE),
  partialSuccess: fieldsOf(exports.PARTIAL_SUCCESS),
  status: fieldsOf(exports.STATUS)
})
