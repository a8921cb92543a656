'use strict'
// Records of many loggers, all of the same second and all errors: each must be found by its time and by its level.

const tape = require('tape')
const { findLevel, findTime, levelFilter, matches, parseWhere, timeFilter, toInstant, toLevel, toNanoseconds } = require('..')

const MS = 1_790_000_000_000
const ISO = '2026-09-21T14:13:20'

const SHAPES = {
  pino: { time: MS, level: 50, msg: 'x' },
  'pino, with a label and a time as text': { level: 'error', time: `${ISO}.000Z`, msg: 'x' },
  bunyan: { time: `${ISO}.000Z`, level: 50, name: 'bunyan', msg: 'x' },
  winston: { timestamp: `${ISO}.000Z`, level: 'error', message: 'x' },
  'winston, with colours': { timestamp: `${ISO}Z`, level: '\u001b[31merror\u001b[39m', message: 'x' },
  zap: { level: 'error', ts: 1_790_000_000.123, caller: 'x.go:1', msg: 'x' },
  'zap, for production': { L: 'ERROR', T: `${ISO}.123Z`, M: 'x' },
  logrus: { level: 'error', msg: 'x', time: '2026-09-21T16:13:20+02:00' },
  zerolog: { level: 'error', time: 1_790_000_000, message: 'x' },
  hclog: { '@level': 'error', '@timestamp': `${ISO}.123456Z`, '@message': 'x' },
  slog: { time: '2026-09-21T16:13:20.123456789+02:00', level: 'ERROR', msg: 'x' },
  'slog, above error': { time: `${ISO}Z`, level: 'ERROR+2', msg: 'x' },
  structlog: { event: 'x', level: 'error', timestamp: `${ISO}Z` },
  'python-json-logger': { asctime: '2026-09-21 14:13:20,123', levelname: 'ERROR', message: 'x' },
  'python, by number': { created: 1_790_000_000.123, levelno: 40, message: 'x' },
  'python, critical': { created: 1_790_000_000.123, levelname: 'CRITICAL', levelno: 50, message: 'x' },
  loguru: { text: 'x', record: { level: { name: 'ERROR', no: 40 }, time: { repr: `${ISO}+00:00`, timestamp: 1_790_000_000.1 } } },
  ECS: { '@timestamp': `${ISO}.000Z`, 'log.level': 'ERROR', message: 'x' },
  'ECS, nested': { '@timestamp': `${ISO}.000Z`, log: { level: 'error' }, message: 'x' },
  'Docker: standard error': { log: 'docker\n', stream: 'stderr', time: `${ISO}.123456789Z` },
  'Docker: a line of pino': { log: `{"level":50,"time":${MS},"msg":"x"}\n`, stream: 'stdout', time: `${ISO}.1Z` },
  'Docker: a line of text': { log: '2026/09/21 14:13:20 [error] 7#7: *1 open() failed\n', stream: 'stdout', time: `${ISO}.1Z` },
  'Docker: logfmt': { log: 'time=x level=error msg="no"\n', stream: 'stdout', time: `${ISO}.1Z` },
  'Google Cloud': { severity: 'ERROR', timestamp: `${ISO}Z`, message: 'x' },
  'Google Cloud, as an entry': { severity: 500, timestamp: { seconds: '1790000000', nanos: 5 }, jsonPayload: { message: 'x' } },
  MongoDB: { t: { $date: `${ISO}.000+00:00` }, s: 'E', c: 'NETWORK', msg: 'x' },
  'MongoDB, extended': { t: { $date: { $numberLong: String(MS) } }, s: 'F', msg: 'x' },
  journald: { PRIORITY: '3', __REALTIME_TIMESTAMP: `${MS}000`, MESSAGE: 'x' },
  'systemd-cat': { PRIORITY: '2', _SOURCE_REALTIME_TIMESTAMP: `${MS}123`, MESSAGE: 'x' },
  CloudTrail: { eventTime: `${ISO}Z`, eventName: 'GetObject', errorCode: 'AccessDenied' },
  'CloudWatch, with a line of JSON': { timestamp: MS, message: '{"level":"ERROR","msg":"x"}', ingestionTime: 5 },
  'AWS Lambda': { timestamp: `${ISO}.123Z`, level: 'ERROR', requestId: 'x', message: 'x' },
  Powertools: { level: 'ERROR', location: 'f:1', message: 'x', timestamp: '2026-09-21 14:13:20,123+0000', service: 'x' },
  'OpenTelemetry, as sent': {
    timeUnixNano: `${MS}000001`, severityNumber: 17, severityText: 'ERROR', body: { stringValue: 'x' }
  },
  'OpenTelemetry, by name': { observedTimeUnixNano: `${MS}000001`, severityText: 'Error3', body: 'x' },
  'OpenTelemetry, of ingest': { time: MS, value: { time: `${ISO}.000000000Z`, severityNumber: 18, body: 'x' } },
  ingest: { time: MS, value: { level: 'error', msg: 'x' } },
  'fluent-bit': { date: 1_790_000_000.5, log: 'x', level: 'error' },
  log4j: { instant: { epochSecond: 1_790_000_000, nanoOfSecond: 5 }, level: 'ERROR', message: 'x' },
  'log4j, old': { timeMillis: MS, level: 'FATAL', message: 'x' },
  log4js: { startTime: `${ISO}.000Z`, level: { level: 40_000, levelStr: 'ERROR', colour: 'red' }, data: ['x'] },
  logback: { '@timestamp': `${ISO}.123+00:00`, level: 'ERROR', level_value: 40_000, message: 'x' },
  'logback, by number': { timestamp: MS, level_value: 40_000, message: 'x' },
  'Serilog CLEF': { '@t': `${ISO}.1234567Z`, '@l': 'Error', '@m': 'x' },
  Serilog: { Timestamp: '2026-09-21T16:13:20.1234567+02:00', Level: 'Error', MessageTemplate: 'x' },
  '.NET console': { Timestamp: `${ISO}Z`, EventId: 0, LogLevel: 'Error', Category: 'x', Message: 'x' },
  NLog: { time: '2026-09-21 14:13:20.1234', level: 'ERROR', message: 'x' },
  'Azure Application Insights': { time: `${ISO}.1234567Z`, data: { baseData: { message: 'x', severityLevel: 3 } } },
  'Azure, a table': { TimeGenerated: `${ISO}Z`, SeverityLevel: 4, Message: 'x' },
  'Ruby semantic logger': { timestamp: `${ISO}.123456Z`, level: 'error', level_index: 4, message: 'x' },
  'Ruby ougai': { time: `${ISO}.123+00:00`, level: 50, msg: 'x' },
  Monolog: { message: 'x', level: 400, level_name: 'ERROR', channel: 'app', datetime: `${ISO}.123456+00:00` },
  'Monolog, by number': { message: 'x', level: 500, channel: 'app', datetime: { date: '2026-09-21 14:13:20.000000', timezone: 'UTC' } },
  GELF: { version: '1.1', host: 'x', short_message: 'x', timestamp: 1_790_000_000.12, level: 3 },
  Datadog: { timestamp: `${ISO}Z`, status: 'error', message: 'x' },
  Rust: { timestamp: `${ISO}.123456Z`, level: 'ERROR', fields: { message: 'x' }, target: 'app' },
  'Rust slog': { ts: '2026-09-21T14:13:20.123456789+00:00', level: 'ERRO', msg: 'x' },
  Caddy: { level: 'error', ts: 1_790_000_000.1234567, logger: 'http', msg: 'x' },
  Traefik: { level: 'error', time: `${ISO}Z`, StartUTC: `${ISO}.1Z`, msg: 'x' },
  Elasticsearch: { type: 'server', timestamp: '2026-09-21T14:13:20,123Z', level: 'ERROR', message: 'x' },
  PostgreSQL: { timestamp: '2026-09-21 14:13:20.123 UTC', error_severity: 'ERROR', message: 'x' },
  Splunk: { time: 1_790_000_000.123, event: { severity: 'ERROR', message: 'x' } },
  npmlog: { level: 'ERR!', timestamp: MS, message: 'x' },
  roarr: { context: { logLevel: 50 }, message: 'x', sequence: '0', time: MS, version: '2.0.0' },
  tslog: { 0: 'x', _meta: { date: `${ISO}.000Z`, logLevelId: 5, logLevelName: 'ERROR' } },
  consola: { date: `${ISO}.000Z`, type: 'error', level: 0, args: ['x'] },
  signale: { timestamp: MS, label: 'error', message: 'x' },
  'MySQL shell of two fields': { date: '2026-09-21', time: '14:13:20', severity: 'ERROR' },
  'Heroku router': { time: `${ISO}Z`, at: 'error', code: 'H12' },
  'a line of text': '2026-09-21T14:13:20.123Z ERROR x',
  'a line of text, in bytes': Buffer.from('[2026-09-21 14:13:20] [error] x'),
  'a line of JSON, in bytes': Buffer.from(`{"level":50,"time":${MS}}`),
  'a binary record': { at: 1n, time: new Date(MS), level: 50n },
  'microseconds and nanoseconds': { ts: BigInt(MS) * 1_000_000n + 5n, lvl: 'eror' }
}

tape('log records: each shape is found by its second, and by its level', (t) => {
  const at = MS / 1000 * 1000
  for (const [name, record] of Object.entries(SHAPES)) {
    const passes = (where) => matches(parseWhere(where), record)
    const isAt = passes(timeFilter({ since: at, until: at + 1000 })) && !passes(timeFilter({ since: at + 1000 })) &&
      !passes(timeFilter({ until: at }))
    t.ok(isAt, `${name}: ${JSON.stringify(findTime(record))}`)
    t.ok(passes(levelFilter('error')) && passes(levelFilter('WARNING')), `${name}: ${JSON.stringify(findLevel(record)?.level)}`)
  }
  t.end()
})

tape('log records: what is less than a warning stays out', (t) => {
  const records = [{ level: 30 }, { level: 'info' }, { level: 'Notice' }, { PRIORITY: '5' }, { severityNumber: 12 }, { severity: 300 },
    { s: 'I' }, { s: 'D2' }, { levelno: 20 }, { level_value: 20_000 }, { severityLevel: 1 }, { '@t': 'x', '@m': 'x' },
    { stream: 'stdout', log: 'x' }, { level: 'DEBUG-4' }, { level: 'INFO+1' }, { log: 'level=info x', stream: 'stderr' },
    { level: 250, level_name: 'NOTICE' }, { eventTime: 'x', eventName: 'x' }, { log: 'I0921 14:13:20.1 x', stream: 'stderr' },
    { level: 3, type: 'info' }, { logLevelId: 3 }, { level: { levelStr: 'INFO', level: 20_000 } }, { level: 'verbose' }, { level: 'http' }]
  for (const record of records) {
    t.notEqual(findLevel(record), null, JSON.stringify(record))
    t.notOk(matches(parseWhere(levelFilter('warn')), record), JSON.stringify(record))
  }
  t.end()
})

tape('log records: what says no time or level, has none', (t) => {
  const none = [{}, [], null, 7, true, 'text', 'the ERROR is ours', { msg: 'x' }, { level: {} }, { level: 'audit' }, { time: 'soon' },
    { time: '12' }, { time: NaN }, { type: 'post' }, { status: 200 }, { date: 'Monday' }, { time: '2026-02-30' }, { level: '' },
    { message: 'ERROR: of another program' }, { a: { level: 50, time: MS } }, Buffer.from([255, 254]), new Date(NaN)]
  for (const record of none) t.deepEqual([findTime(record), findLevel(record)], [null, null], JSON.stringify(record))
  t.equal(findTime({ time: 0.35, timestamp: MS }).ms, MS, 'a duration')
  t.equal(findTime({ time: 35 }).ms, 35, 'a clock that begins at 1970')
  t.equal(findTime({ time: 2e8, value: { time: MS } }).ms, 2e8, 'ingest, on such a clock')
  t.end()
})

tape('levels: by every name, in any case, and as digits', (t) => {
  const order = ['trace', 'debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg']
  const numbers = order.map((name) => toLevel(name).level)
  t.deepEqual(numbers, [...numbers].sort((a, b) => a - b))
  for (const name of ['Warn', 'WARNING', ' warn ', '[WARN]', 'wrn', '40', 40, 'SEVERITY_NUMBER_WARN', 'LogLevel.Warning', 'warn:']) {
    t.equal(toLevel(name)?.level, 40, String(name))
  }
  for (const name of ['x', '', 'warned', 'error1x', null, {}, NaN, 'e'.repeat(100)]) t.equal(toLevel(name), null, String(name))
  t.end()
})

tape('times: every spelling, to the nanosecond, and in UTC where there is no zone', (t) => {
  const spellings = {
    '1790000000123456789': ['1790000000123456789', 1790000000123456789n, '2026-09-21T14:13:20.123456789Z', '2026-09-21 16:13:20.123456789 +0200 CEST',
      '2026-09-21T19:43:20,123456789+05:30', '1790000000.123456789', '2026/09/21 14:13:20.123456789'],
    1790000000123000000: [1790000000123, 1790000000.123, 1790000000123000, '1790000000123', '2026-09-21 14:13:20.123', '20260921T141320.123Z',
      '2026-09-21T14:13:20.123+00:00[Etc/UTC]', new Date(1790000000123)],
    1790000000000000000: [1790000000, '1790000000', '21/Sep/2026:16:13:20 +0200', 'Mon, 21 Sep 2026 14:13:20 GMT', 'Mon Sep 21 14:13:20 2026',
      'Sep 21, 2026 2:13:20 PM', { $date: '2026-09-21T14:13:20Z' }, { $date: 1790000000000 }, { seconds: 1790000000 }, '2026-09-21t14:13:20z'],
    1789948800000000000: ['2026-09-21', '2026-09-21T00:00', '2026-09-20T24:00:00']
  }
  for (const [wanted, values] of Object.entries(spellings)) {
    for (const value of values) {
      const instant = toInstant(value)
      t.equal(instant && toNanoseconds(instant), wanted, `${typeof value} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    }
  }
  t.end()
})

tape('times: names of zones, AM and PM, and a zone before the year count: they were taken for UTC, or for the morning', (t) => {
  const spellings = {
    '2026-09-21T14:13:20Z': ['2026-09-21 02:13:20 PM', '2026-09-21 02:13:20 pm', '2026-09-21 10:13:20 EDT', '2026-09-21 16:13:20 CEST',
      '2026-09-21 23:13:20 JST', '2026-09-21 22:13:20.0 +0800 +08 m=+0.003', '2026-09-21 10:13:20 -0400 EDT', '2026-09-21 04:13:20 PM +0200',
      'Mon Sep 21 14:13:20 UTC 2026', 'Mon Sep 21 07:13:20 PDT 2026', 'Mon Sep 21 16:13:20 CEST 2026', 'Mon Sep 21 07:13:20 -0700 2026',
      'Mon Sep 21 04:13:20 PM CEST 2026', 'Mon, 21 Sep 2026 16:13:20 CEST', 'Mon Sep 21 2026 16:13:20 GMT+0200 (CEST)',
      'Mon, 21 Sep 2026 15:13:20 BST', 'Mon Sep 21 07:13:20 2026 -0700'],
    '2026-09-21T00:13:20Z': ['2026-09-21 12:13:20 AM'],
    '2026-09-21T12:13:20Z': ['2026-09-21 12:13:20 PM']
  }
  const { TZ } = process.env
  for (const zone of ['America/New_York', 'UTC']) {
    process.env.TZ = zone
    for (const [wanted, texts] of Object.entries(spellings)) {
      for (const text of texts) t.equal(toInstant(text)?.ms, Date.parse(wanted), `${text} in ${zone}`)
    }
  }
  if (TZ === undefined) delete process.env.TZ
  else process.env.TZ = TZ
  for (const text of ['2026-09-21 14:13:20 IST', 'Mon Sep 21 14:13:20 IST 2026']) t.equal(toInstant(text), null, `${text}: India, Ireland or Israel`)
  for (const line of ['2026-09-21 16:13:20.000 CEST [7] LOG:  x', '2026-09-21 02:13:20 PM x', '[2026-09-21 16:13:20 +0200] x', '2026-09-21 14:13:20 INFO x']) t.equal(findTime(line)?.ms, MS, line)
  t.end()
})

tape('times: the zone of the machine changes nothing', (t) => {
  const { TZ } = process.env
  for (const zone of ['America/New_York', 'Asia/Kolkata', 'UTC']) {
    process.env.TZ = zone
    for (const text of ['2026-09-21 14:13:20', '2026-09-21T14:13:20', 'Sep 21 2026 14:13:20', 'Mon Sep 21 14:13:20 2026']) {
      t.equal(toInstant(text)?.ms, MS, `${text} in ${zone}`)
    }
  }
  if (TZ === undefined) delete process.env.TZ
  else process.env.TZ = TZ
  t.end()
})

tape('time and level: operators of the language', (t) => {
  const passes = (where, value) => matches(parseWhere(where), value)
  t.ok(passes({ path: [], level: { gte: 'warn', lt: 'fatal' } }, { level: 'ERROR' }))
  t.notOk(passes({ path: [], level: { gt: 'error' } }, { level: 50 }))
  t.ok(passes({ path: 'value', level: { lte: 30 } }, { value: { severity: 'INFO' } }))
  t.ok(passes({ path: 'at', time: { gte: ISO, lte: new Date(MS) } }, { at: '2026-09-21 14:13:20' }))
  t.ok(passes({ not: { path: [], time: {} } }, { msg: 'no time' }), 'any time at all')
  for (const where of [{ path: [], time: 5 }, { path: [], level: { gte: 'loud' } }, { path: [], time: { since: 5 } },
    { path: [], time: { gt: 1, gte: 1 } }, { path: [], level: { gte: NaN } }, { path: [], time: {}, level: {} }]) {
    t.throws(() => parseWhere(where), { code: 'ERR_INVALID_ARGUMENT' }, JSON.stringify(where))
  }
  t.end()
})
