'use strict'
// What the server measures, as Prometheus reads it. What every request changes is counted in plain numbers: prom-client
// would look its labels up each time. Labels have few values, whatever clients send: routes, not paths.

const path = require('node:path')
const { promisesOf } = require('@millrace/flow')
const { Registry, collectDefaultMetrics } = require('prom-client')

/** Upper bounds in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Sizes of so many open logs are shown, those that were used last. */
const SIZED_LOGS_MAX = 100
const NO_ROUTE = 'none'
/** No status is as high. */
const STATUS_END = 600

/**
 * @typedef {import('./named-logs').NamedLogs} NamedLogs
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {{ labels: Record<string, string | number>, value: number, metricName?: string }} Value
 */

/** Of the process, begun by the first scrape. @type {Registry | null} */
let processRegistry = null

class Histogram {
  #counts = new Float64Array(BOUNDS.length + 1)
  #sum = 0

  /** @param {number} seconds */
  observe (seconds) {
    let index = 0
    while (index < BOUNDS.length && seconds > BOUNDS[index]) index++
    this.#counts[index]++
    this.#sum += seconds
  }

  /** @type {(name: string, labels: Record<string, string>) => Value[]} */
  values (name, labels) {
    let count = 0
    const buckets = [...BOUNDS, '+Inf'].map((le, index) => {
      count += this.#counts[index]
      return { labels: { ...labels, le }, value: count, metricName: `${name}_bucket` }
    })
    return [...buckets,
      { labels, value: this.#sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` }]
  }
}

/** The requests of one route, by method. */
class RouteMeter {
  /** @type {Map<string, RequestMeter>} */
  byMethod = new Map()

  /** @type {(method: string, status: number, seconds: number) => void} */
  observe (method, status, seconds) {
    let meter = this.byMethod.get(method)
    if (meter === undefined) this.byMethod.set(method, meter = new RequestMeter())
    meter.observe(status, seconds)
  }
}

/** The requests of one route and method. */
class RequestMeter {
  duration = new Histogram()
  /** How many answers had each status. A Map would look it up twice for each request. */
  statuses = new Float64Array(STATUS_END)

  /** @type {(status: number, seconds: number) => void} */
  observe (status, seconds) {
    this.statuses[status]++
    this.duration.observe(seconds)
  }
}

/** What the logs of a folder write, together. */
class WriteMeter {
  records = 0
  bytes = 0
  writing = new Histogram()
  syncing = new Histogram()
  failures = 0

  /** @type {(records: number, bytes: number, ms: number) => void} */
  write (records, bytes, ms) {
    this.records += records
    this.bytes += bytes
    this.writing.observe(ms / 1000)
  }

  /** @param {number} ms */
  sync (ms) {
    this.syncing.observe(ms / 1000)
  }
}

class Metrics {
  registry = new Registry()
  liveReaders = 0
  /** Of paths that no route has. */
  unknown = new RouteMeter()
  /** @type {Map<string, RouteMeter>} */
  #routes = new Map([[NO_ROUTE, this.unknown]])

  /**
   * @param {NamedLogs} logs
   * @param {WriteMeter} meter
   * @param {string} folder
   * @param {{ budget: { size: number }, scans: { count: number } }} shared
   */
  constructor (logs, meter, folder, { budget, scans }) {
    this.#addRequests()
    this.#gauge('request_bytes', 'What requests hold in memory', () => budget.size)
    this.#gauge('readers', 'Requests that read a range', () => scans.count)
    this.#addWriting(logs, meter)
    this.#addLogs(logs, folder)
  }

  /** @type {(route: string) => RouteMeter} */
  meterOf (route) {
    const meter = this.#routes.get(route) ?? new RouteMeter()
    this.#routes.set(route, meter)
    return meter
  }

  /** The text that Prometheus reads. */
  async format () {
    if (processRegistry === null) collectDefaultMetrics({ register: processRegistry = new Registry() })
    return `${await this.registry.metrics()}\n${await processRegistry.metrics()}`
  }

  #addRequests () {
    this.#add('http_requests_total', 'counter', 'Requests that were answered', () => {
      return this.#requests().flatMap(({ route, method, meter }) => {
        return [...meter.statuses.entries()].filter(([, value]) => value > 0)
          .map(([status, value]) => ({ labels: { method, route, status }, value }))
      })
    })
    const help = 'From a request to the end of its answer; live streams are not among them'
    this.#add('http_request_duration_seconds', 'histogram', help, (name) => {
      return this.#requests().flatMap(({ route, method, meter }) => {
        return meter.duration.values(name, { method, route })
      })
    })
  }

  #requests () {
    return [...this.#routes].flatMap(([route, { byMethod }]) => {
      return [...byMethod].map(([method, meter]) => ({ route, method, meter }))
    })
  }

  /** @type {(logs: NamedLogs, meter: WriteMeter) => void} */
  #addWriting (logs, meter) {
    const one = (/** @type {number} */ value) => [{ labels: {}, value }]
    this.#add('appended_records_total', 'counter', 'Records that were written', () => one(meter.records))
    this.#add('appended_bytes_total', 'counter', 'Bytes of the records that were written', () => one(meter.bytes))
    this.#add('failures_total', 'counter', 'Failures that were reported, of the disk as a rule', () => one(meter.failures))
    this.#add('write_duration_seconds', 'histogram', 'From the arrival of a batch until it is written', (name) => {
      return meter.writing.values(name, {})
    })
    this.#add('sync_duration_seconds', 'histogram', 'How long the syncs take that clients wait for', (name) => {
      return meter.syncing.values(name, {})
    })
    const committers = () => readyOf(logs).map(({ committer }) => committer)
    this.#gauge('unwritten_bytes', 'Bytes that wait to be written', () => {
      return committers().reduce((sum, { pendingSize }) => sum + pendingSize, 0)
    })
    this.#gauge('unwritten_batches', 'Batches that wait to be written', () => {
      return committers().reduce((sum, { pendingCount }) => sum + pendingCount, 0)
    })
    this.#gauge('unwritten_age_seconds', 'How long the oldest of them has waited', () => {
      return Math.max(0, ...committers().map(({ lagMs }) => lagMs)) / 1000
    })
    this.#gauge('unsynced_age_seconds', 'How long ago the oldest record was written that is not on stable storage', () => {
      return Math.max(0, ...committers().map(({ unsyncedMs }) => unsyncedMs)) / 1000
    })
  }

  /** @type {(logs: NamedLogs, folder: string) => void} */
  #addLogs (logs, folder) {
    this.#gauge('ready', '1 if the server has the folder', () => Number(logs.isOpen))
    this.#gauge('logs', 'Logs in the folder', () => logs.names.size)
    this.#gauge('open_logs', 'Logs that are open', () => readyOf(logs).length)
    this.#gauge('live_readers', 'Live streams', () => this.liveReaders)
    this.#add('free_bytes', 'gauge', 'Bytes that are free where the folder is', async () => {
      const value = await measureStorage(logs.storage, 'freeSize', folder)
      return value === null ? [] : [{ labels: {}, value }]
    })
    this.#add('log_size_bytes', 'gauge', `Bytes of the files of open logs and of their indexes, of ${SIZED_LOGS_MAX} logs at most`, () => {
      return Promise.all(readyOf(logs).slice(-SIZED_LOGS_MAX).map(async ({ name, log }) => {
        const folders = [log.filename, path.join(log.filename, 'index')]
        const sizes = await Promise.all(folders.map((folder) => sizeOfFolder(logs.storage, folder)))
        return { labels: { log: name }, value: sizes[0] + sizes[1] }
      }))
    })
  }

  /** @type {(name: string, help: string, measure: () => number | Promise<number>) => void} */
  #gauge (name, help, measure) {
    this.#add(name, 'gauge', help, async () => [{ labels: {}, value: await measure() }])
  }

  /**
   * @param {string} shortName
   * @param {'counter' | 'gauge' | 'histogram'} type
   * @param {string} help
   * @param {(name: string) => Value[] | Promise<Value[]>} measure
   */
  #add (shortName, type, help, measure) {
    const name = `millrace_${shortName}`
    const get = async () => ({ name, help, type, values: await measure(name) })
    this.registry.registerMetric(/** @type {any} */ ({ name, get }))
  }
}

/** The logs that are open, the one that was used last at the end. @param {NamedLogs} logs */
function readyOf (logs) {
  return [...logs.opened].filter(({ isReady }) => isReady)
}

/**
 * Of its files, in bytes. Those that go away meanwhile do not count.
 * @type {(storage: Storage, folder: string) => Promise<number>}
 */
async function sizeOfFolder (storage, folder) {
  const names = await promisesOf(storage).listFolder(folder).catch(() => [])
  const sizes = await Promise.all(names.map((name) => measureStorage(storage, 'fileSize', path.join(folder, name))))
  return sizes.reduce((/** @type {number} */ sum, size) => sum + (size ?? 0), 0)
}

/**
 * What the storage says of a path; null if it does not say it.
 * @type {(storage: Storage, what: 'fileSize' | 'freeSize', name: string) => Promise<number | null>}
 */
async function measureStorage (storage, what, name) {
  return storage[what] ? promisesOf(storage)[what](name).catch(() => null) : null
}

exports.Metrics = Metrics
exports.WriteMeter = WriteMeter
