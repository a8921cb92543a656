'use strict'
// The slow, obvious reading and writing of OTLP logs: protobufjs with the definitions of the protocol, random requests,
// and their JSON encoding as the specification words it.

const path = require('node:path')
const protobuf = require('protobufjs')

const root = protobuf.loadSync(path.join(__dirname, 'otlp-logs.proto'))
const Request = root.lookupType('ExportLogsServiceRequest')

const LIMITS = [31n, 32n, 53n, 63n].flatMap((bits) => [2n ** bits - 1n, -(2n ** bits)])
const INTEGERS = [0n, 1n, -1n, 127n, 128n, -128n, 2n ** 53n, ...LIMITS]
const DOUBLES = [0, -0, 1, -1.5, 1e300, 5e-324, NaN, Infinity, -Infinity, 2 ** 60, 0.1]
// None ends with a backslash: after such a name, JSON.parse of V8 13.6 (Node.js 24) reads another one that ends with a
// quotation mark as if it ended with a backslash, too.
const TEXTS = ['', 'a', 'service.name', '__proto__', 'constructor', '0', '\u20ac', '\ud83d\ude00', '"', '\\.', '\n', '\u2028',
  'x'.repeat(200), '1234567890123456789', ' 1234567890123456789,']
const TIMES = [0n, 1n, 999999999n, 1000000000n, 1544712660300000000n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 64n - 1n]

/** A request as protobufjs takes it: big integers as decimal digits, bytes as buffers. */
function randomRequest (random) {
  const pick = (list) => list[random(list.length)]
  const list = (length, make) => Array.from({ length: random(length) }, make)
  const maybe = (make) => random(3) === 0 ? undefined : make()
  const pair = (depth) => ({ key: pick(TEXTS), value: maybe(() => value(depth)) })
  const value = (depth) => {
    switch (random(depth > 4 ? 7 : 9)) {
      case 0: return {}
      case 1: return { boolValue: random(2) === 1 }
      case 2: return { intValue: String(pick(INTEGERS)) }
      case 3: return { doubleValue: pick(DOUBLES) }
      case 4: return { bytesValue: bytes(random(5)) }
      case 7: return { arrayValue: { values: list(4, () => value(depth + 1)) } }
      case 8: return { kvlistValue: { values: list(4, () => pair(depth + 1)) } }
      default: return { stringValue: pick(TEXTS) }
    }
  }
  const bytes = (size) => Buffer.from(Array.from({ length: size }, () => random(256)))
  const id = (size) => pick([Buffer.alloc(0), Buffer.alloc(size), Buffer.alloc(size - 1, 1), bytes(size), bytes(size)])
  const attributes = () => list(5, () => pair(0))
  const count = () => pick([0, 0, 1, 2 ** 32 - 1])
  const resource = () => ({ attributes: attributes(), droppedAttributesCount: count() })
  const record = () => withoutHoles({
    timeUnixNano: maybe(() => String(pick(TIMES))),
    observedTimeUnixNano: maybe(() => String(pick(TIMES))),
    severityNumber: maybe(() => pick([0, 1, 9, 24, 99, -1])),
    severityText: maybe(() => pick(TEXTS)),
    eventName: maybe(() => pick(TEXTS)),
    body: maybe(() => value(0)),
    attributes: attributes(),
    droppedAttributesCount: count(),
    flags: count(),
    traceId: maybe(() => id(16)),
    spanId: maybe(() => id(8))
  })
  const scopeLogs = () => withoutHoles({
    scope: maybe(() => ({ name: pick(TEXTS), version: pick(TEXTS), ...resource() })),
    logRecords: list(4, record),
    schemaUrl: maybe(() => pick(TEXTS))
  })
  return {
    resourceLogs: list(4, () => withoutHoles({
      resource: maybe(resource),
      scopeLogs: list(3, scopeLogs),
      schemaUrl: maybe(() => pick(TEXTS))
    }))
  }
}

function withoutHoles (object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

/** In protobuf, by protobufjs. */
function encode (request) {
  return Buffer.from(Request.encode(Request.fromObject(request)).finish())
}

function decode (bytes) {
  return Request.toObject(Request.decode(bytes), { longs: String, bytes: Buffer, arrays: true })
}

/** The JSON encoding; `isLoose`: integers as numbers, ids in capitals, null for nothing. */
function toJson (request, isLoose = false) {
  const text = JSON.stringify(request, function (key, value) {
    const given = this[key]
    if (Buffer.isBuffer(given)) {
      if (key === 'bytesValue') return given.toString(isLoose ? 'base64url' : 'base64')
      return isLoose ? given.toString('hex').toUpperCase() : given.toString('hex')
    }
    if (key === 'doubleValue' && !Number.isFinite(value)) return String(given)
    return value
  })
  if (!isLoose) return Buffer.from(text)
  const loose = text.replace(/"(intValue|timeUnixNano|observedTimeUnixNano)":"(-?\d+)"/g, '"$1" : $2')
  return Buffer.from(loose.replaceAll('"value":{}', '"value":null,"unknown":[{}]'))
}

/** What the readers must give, made from what protobufjs has decoded. */
function expectGroups ({ resourceLogs = [] }) {
  return resourceLogs.flatMap((resourceLogs) => {
    const { resource = {}, scopeLogs = [] } = resourceLogs
    return scopeLogs.filter(({ logRecords = [] }) => logRecords.length > 0).map((scopeLogs) => {
      const { scope = {}, logRecords } = scopeLogs
      const { name, version } = scope
      return {
        resource: { ...expectAttributes(resource), schemaUrl: resourceLogs.schemaUrl || undefined },
        scope: {
          name: name || undefined,
          version: version || undefined,
          ...expectAttributes(scope),
          schemaUrl: scopeLogs.schemaUrl || undefined
        },
        records: logRecords.map(expectRecord)
      }
    })
  })
}

function expectAttributes ({ attributes = [], droppedAttributesCount }) {
  return {
    attributes: attributes.length === 0 ? undefined : expectPairs(attributes),
    droppedAttributesCount: droppedAttributesCount || undefined
  }
}

function expectRecord (record) {
  const { severityNumber, severityText, eventName, body, traceId, spanId, flags } = record
  return {
    time: expectTime(record.timeUnixNano),
    observedTime: expectTime(record.observedTimeUnixNano),
    severityNumber: severityNumber || undefined,
    severityText: severityText || undefined,
    eventName: eventName || undefined,
    body: body === undefined ? undefined : expectValue(body),
    ...expectAttributes(record),
    traceId: expectId(traceId, 16),
    spanId: expectId(spanId, 8),
    flags: flags || undefined
  }
}

function expectTime (digits = '0') {
  if (digits === '0') return undefined
  const nanoseconds = BigInt(digits)
  const seconds = new Date(Number(nanoseconds / 1_000_000_000n) * 1000).toISOString().replace('.000Z', '')
  return `${seconds}.${String(nanoseconds % 1_000_000_000n).padStart(9, '0')}Z`
}

function expectId (bytes, size) {
  return bytes?.length === size && bytes.some((byte) => byte !== 0) ? bytes.toString('hex') : undefined
}

function expectPairs (pairs) {
  const object = {}
  for (const { key, value } of pairs) {
    const member = { value: expectValue(value ?? {}), enumerable: true, configurable: true, writable: true }
    Object.defineProperty(object, key ?? '', member)
  }
  return object
}

function expectValue (value) {
  const [[kind, content] = []] = Object.entries(value)
  if (kind === undefined) return null
  if (kind === 'intValue') return Number.isSafeInteger(Number(content)) ? Number(content) : content
  if (kind === 'doubleValue') return Number.isFinite(content) ? content : String(content)
  if (kind === 'bytesValue') return content.toString('base64')
  if (kind === 'arrayValue') return (content.values ?? []).map(expectValue)
  if (kind === 'kvlistValue') return expectPairs(content.values ?? [])
  return content
}

exports.randomRequest = randomRequest
exports.encode = encode
exports.decode = decode
exports.toJson = toJson
exports.expectGroups = expectGroups
exports.messages = root
