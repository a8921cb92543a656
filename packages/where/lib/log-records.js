'use strict'
// Where the records of loggers have their time and their level: in which field, at which depth, in which unit. Whoever
// filters, shows or sends on records asks here, so that all say the same. The README says it for users.
//
// Names of fields are compared without case and punctuation: `@timestamp`, `TimeStamp` and `time_stamp` are one name.
// What is nearer to the root counts first, and there the name that is further up in the tables.

const { toLevel } = require('./levels')
const { SECONDS_MIN, toInstant, toLeadingInstant } = require('./times')

/** Fields of a time, the first ones first. */
const TIME_NAMES = ('time timestamp ts t timeunixnano realtimetimestamp sourcerealtimetimestamp eventtime asctime datetime ' +
  'date instant timemillis timestampms timems timestampmillis timestampseconds timestampnanos timegenerated eventtimestamp ' +
  'logtimestamp logtime logdate loggedat dt timeiso8601 timelocal isotime isodate utctime timestamputc msec epoch epochms ' +
  'epochmillis unixtime unixms starttime startutc requestreceivedtimestamp stagetimestamp createdat created eventcreated ' +
  'published occurredat at when observedtimeunixnano observedtime ' +
  'observedtimestamp receivedat ingestedat').split(' ')

/**
 * Fields of a level, the first ones first, with what their numbers mean.
 * @type {ReadonlyArray<readonly [names: string, scale: string]>}
 */
const LEVEL_NAMES = [
  ['level', 'any'],
  ['severitynumber', 'otel'],
  ['severity', 'severity'],
  ['severitytext', 'names'],
  ['loglevel', 'dotnet'],
  ['levelname levelstr loglevelname severityname errorseverity syslogseverityname', 'names'],
  ['lvl', 'any'],
  ['levelno', 'python'],
  ['levelvalue', 'log4j'],
  ['severitylevel', 'azure'],
  ['priority', 'syslog'],
  ['severitycode syslogseveritycode syslogseverity logsyslogseveritycode', 'syslog'],
  ['loglevelid', 'tslog'],
  ['s', 'names'],
  ['l', 'any'],
  ['status', 'names'],
  ['type at label', 'names']
]

/** What holds a record of a logger, as an object or as the JSON text of one; the first ones first. */
const WRAPPERS = ('log value body jsonpayload message msg meta metadata context record event data payload fields attributes ' +
  'properties basedata datetime level time').split(' ')
const DEPTH_MAX = 4
const ENVELOPE = ['time', 'idempotency', 'value']
const JSON_LENGTH_MAX = 1024 * 1024
const TEXT_LENGTH_MAX = 200
const DAY_LENGTH = '2026-11-23'.length
const KEY_LENGTH_MAX = 40
/** The first so many names may have a time near 1970. */
const LOOSE_COUNT = 3
/** Keys may come from strangers. */
const KNOWN_COUNT_MAX = 10_000
/** Numbers between these are on the scale of pino, whoever wrote them. */
const OWN_LEVEL_MIN = 8
const OWN_LEVEL_MAX = 70

/**
 * @typedef {{ ms: number, nanoseconds: number, path: string[] }} FoundTime  ms since 1970, and 0 to 999,999 nanoseconds
 *   after it. `path`: of the field
 * @typedef {object} FoundLevel
 * @property {number} level  on the scale of pino
 * @property {number} severity  of OpenTelemetry
 * @property {string[]} path  of the field; it is empty if a text says it
 * @property {unknown} value  of the field
 * @property {boolean} isSure  false of a number that could have come from several scales
 *
 * @typedef {{ time: number, level: number, wrapper: number, scale: string }} Meaning  places in the tables; -1: none
 */

/** @type {Map<string, Meaning>} */
const meanings = new Map()
const levelRanks = new Map(LEVEL_NAMES.flatMap(([names, scale], rank) => {
  return names.split(' ').map((name) => /** @type {const} */ ([name, { rank, scale }]))
}))
/** @type {Meaning} */
const NOTHING = { time: -1, level: -1, wrapper: -1, scale: 'any' }

/** @param {string} key @returns {Meaning} */
function meaningOf (key) {
  const known = meanings.get(key)
  if (known !== undefined) return known
  if (key.length > KEY_LENGTH_MAX) return NOTHING
  const name = key.toLowerCase().replace(/[^a-z0-9]/g, '')
  const { rank: level = -1, scale = 'any' } = levelRanks.get(name) ?? {}
  const found = { time: TIME_NAMES.indexOf(name), level, wrapper: WRAPPERS.indexOf(name), scale }
  const meaning = found.time + found.level + found.wrapper === -3 ? NOTHING : found
  if (meanings.size >= KNOWN_COUNT_MAX) meanings.clear()
  meanings.set(key, meaning)
  return meaning
}

/**
 * Finds the time of a record, wherever a logger writes it. Names of fields are compared without case and punctuation.
 * What is nearer to the root counts first, then the order of a table. If there is no such field, the fields inside of
 * `log`, `value`, `body`, `jsonPayload`, `message`, `meta`, `context` and a few more are looked at, also if they are
 * JSON in a text.
 * @param {unknown} record  decoded; or text or bytes, as of a log without a codec
 * @returns {FoundTime | null}  null if it has no time
 */
function findTime (record) {
  return timeIn(toText(record), 0, [])
}

/** @type {(record: any, depth: number, path: string[]) => FoundTime | null} */
function timeIn (record, depth, path) {
  const fields = fieldsOf(record)
  if (fields === null) {
    const instant = typeof record === 'string' && path.length === 0 ? toLeadingInstant(record) : null
    return instant && { ...instant, path: [] }
  }
  const key = findKey(fields, rankTime)
  if (key === null) return inWrappers(fields, depth, path, timeIn)
  const value = fields[key]
  const isOfReceipt = depth === 0 && typeof value === 'number' && isEnvelope(fields)
  const known = isOfReceipt ? null : withTimeOfDay(fields, key) ?? toInstant(value)
  return { ...known ?? { ms: Math.floor(value), nanoseconds: 0 }, path: [...path, key] }
}

/**
 * What is around the records that clients send to ingest: its time is that of the receipt, in ms, however wrong the
 * clock was.
 * @param {any} fields
 */
function isEnvelope (fields) {
  return Object.hasOwn(fields, 'value') && Object.keys(fields).every((key) => ENVELOPE.includes(key))
}

/**
 * The key with the lowest rank.
 * @param {any} fields
 * @param {(fields: any, key: string, limit: number) => number} rankOf  a number from the limit on if it is none
 * @returns {string | null}
 */
function findKey (fields, rankOf) {
  let found = null
  let limit = Infinity
  for (const key of Object.keys(fields)) {
    const rank = rankOf(fields, key, limit)
    if (rank >= limit) continue
    found = key
    limit = rank
  }
  return found
}

/** @type {(fields: any, key: string, limit: number) => number} */
function rankTime (fields, key, limit) {
  const rank = meaningOf(key).time
  if (rank < 0 || rank >= limit) return Infinity
  const value = fields[key]
  if (toInstant(value) !== null) return rank
  // Ms of a clock that begins at 1970; but where another field has a time, it is a duration.
  const isLoose = rank < LOOSE_COUNT && typeof value === 'number' && value >= 0 && value < SECONDS_MIN
  return isLoose ? rank + TIME_NAMES.length : Infinity
}

/**
 * A day and the time of it in two fields, as web servers have them.
 * @type {(fields: any, key: string) => import('./times').Instant | null}
 */
function withTimeOfDay (fields, key) {
  const { [key]: day, time } = fields
  if (typeof day !== 'string' || day.length !== DAY_LENGTH || typeof time !== 'string') return null
  return /^\d\d:\d\d/.test(time) ? toInstant(`${day} ${time}`) : null
}

/**
 * Finds the level of a record, wherever a logger writes it, as `findTime` finds the time. A number means what the
 * writer of that field means: `level` is pino's, `severityNumber` OpenTelemetry's, `PRIORITY` syslog's, `severity` from
 * 100 on Google's, `levelno` Python's. A few records imply a level: an `errorCode` of CloudTrail is an error, CLEF
 * without `@l` is information, and a container's line on `stderr` is an error, unless the line itself says its level.
 * @param {unknown} record  decoded; or text or bytes
 * @returns {FoundLevel | null}  null if it has no level
 */
function findLevel (record) {
  return levelIn(toText(record), 0, [])
}

/** @type {(record: any, depth: number, path: string[]) => FoundLevel | null} */
function levelIn (record, depth, path) {
  const fields = fieldsOf(record)
  if (fields === null) return isLine(record, path) ? levelOfText(record) : null
  const key = findKey(fields, rankLevel)
  if (key === null) return inWrappers(fields, depth, path, levelIn) ?? impliedLevel(fields)
  const value = valueOf(fields[key])
  const scale = scaleOf(fields, key)
  const found = toLevel(value, scale)
  return found && { ...found, path: [...path, key], value, isSure: !isAmbiguous(scale, value) }
}

/** @type {(fields: any, key: string, limit: number) => number} */
function rankLevel (fields, key, limit) {
  const rank = meaningOf(key).level
  if (rank < 0 || rank >= limit) return Infinity
  const value = valueOf(fields[key])
  const scale = scaleOf(fields, key)
  if (toLevel(value, scale) === null) return Infinity
  return isAmbiguous(scale, value) ? rank + LEVEL_NAMES.length : rank
}

/** Of a level that is an object: its name. @param {any} level */
function valueOf (level) {
  return typeof level?.name === 'string' ? level.name : level
}

/**
 * Whether a number could have come from several scales: then a name says more.
 * @type {(scale: string, value: unknown) => boolean}
 */
function isAmbiguous (scale, value) {
  if (scale !== 'any') return false
  const number = Number(value)
  return number < OWN_LEVEL_MIN || number >= OWN_LEVEL_MAX
}

/** What a number means, as the other fields tell. @type {(fields: any, key: string) => string} */
function scaleOf (fields, key) {
  const { scale } = meaningOf(key)
  if (scale !== 'any') return scale
  // GELF, and Monolog.
  if (fields.short_message !== undefined) return 'syslog'
  return fields.level_name !== undefined || fields.channel !== undefined ? 'monolog' : 'any'
}

/** What is known without a field of the level. @param {any} fields @returns {FoundLevel | null} */
function impliedLevel (fields) {
  const imply = (/** @type {string} */ name) => {
    const found = toLevel(name)
    return found && { ...found, path: [], value: name, isSure: true }
  }
  // CloudTrail names an error, and says nothing else. CLEF leaves out what is information.
  const isOfCloudTrail = fields.eventTime !== undefined && fields.eventName !== undefined
  if (isOfCloudTrail) return imply(fields.errorCode ? 'error' : 'info')
  if (fields['@t'] !== undefined && fields['@l'] === undefined) return imply('info')
  // Where a container runtime has noted nothing but the stream.
  if (fields.stream === 'stderr') return imply('error')
  return fields.stream === 'stdout' ? imply('info') : null
}

/**
 * @template T
 * @param {any} fields
 * @param {number} depth
 * @param {string[]} path
 * @param {(record: any, depth: number, path: string[]) => T | null} find
 * @returns {T | null}
 */
function inWrappers (fields, depth, path, find) {
  if (depth >= DEPTH_MAX) return null
  const keys = Object.keys(fields).filter((key) => meaningOf(key).wrapper >= 0)
  for (const key of keys.sort((a, b) => meaningOf(a).wrapper - meaningOf(b).wrapper)) {
    const found = find(fields[key], depth + 1, [...path, key])
    if (found !== null) return found
  }
  return null
}

/**
 * Whether it is a line of text, and not a message, which may speak of anything.
 * @type {(record: any, path: string[]) => boolean}
 */
function isLine (record, path) {
  return typeof record === 'string' && (path.length === 0 || path[path.length - 1].toLowerCase() === 'log')
}

/**
 * The object that a record is, or is the text of.
 * @param {any} record
 * @returns {any}  null if it is none
 */
function fieldsOf (record) {
  if (typeof record === 'string') return parseObject(record)
  const isObject = typeof record === 'object' && record !== null && !Array.isArray(record)
  return isObject && !(record instanceof Date) && !ArrayBuffer.isView(record) ? record : null
}

/** A log without a codec gives bytes. @param {unknown} record */
function toText (record) {
  if (!ArrayBuffer.isView(record)) return record
  const { buffer, byteOffset, byteLength } = record
  return byteLength > JSON_LENGTH_MAX ? '' : Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** @param {string} text */
function parseObject (text) {
  if (text.length > JSON_LENGTH_MAX || !/^\s*\{/.test(text)) return null
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const LOGFMT = /(?:^|\s)(?:level|lvl|severity)=("?)([\w.+-]+)\1(?=\s|$)/i
/** A word in brackets, in upper case, or before a colon, with nothing but a time before it. */
const WORD = new RegExp(String.raw`^[^A-Za-z]{0,60}?(?:[TZ][^A-Za-z]{0,20}){0,2}` +
  String.raw`(?:[[<|]\s*([A-Za-z]{1,13})\s*[\]>|]|([A-Z]{4,13})\b(?=[\s:|\]]|$)|([A-Za-z]{4,13}):)`)
/** The first letter of a line of Kubernetes' klog. */
const KLOG = /^([IWEF])\d{4} \d\d:/

/** What a line of text says of itself. @param {string} text @returns {FoundLevel | null} */
function levelOfText (text) {
  const line = text.slice(0, TEXT_LENGTH_MAX)
  const [, , value] = LOGFMT.exec(line) ?? []
  const name = value ?? KLOG.exec(line)?.[1] ?? WORD.exec(line)?.slice(1).find((word) => word !== undefined)
  const found = name === undefined ? null : toLevel(name)
  return found && { ...found, path: [], value: name, isSure: true }
}

/**
 * The level at a path: of a record there, or of the value itself.
 * @type {(value: unknown, isRecord: boolean) => number | null}
 */
function levelAt (value, isRecord) {
  const own = isRecord ? null : toLevel(value)
  return own?.level ?? findLevel(value)?.level ?? null
}

/** The same of the time, in ms since 1970. @type {(value: unknown, isRecord: boolean) => number | null} */
function timeAt (value, isRecord) {
  if (isRecord) return findTime(value)?.ms ?? null
  const isEarly = typeof value === 'number' && value >= 0 && value < SECONDS_MIN
  return isEarly ? Math.floor(value) : toInstant(value)?.ms ?? findTime(value)?.ms ?? null
}

exports.findLevel = findLevel
exports.findTime = findTime
exports.levelAt = levelAt
exports.timeAt = timeAt
