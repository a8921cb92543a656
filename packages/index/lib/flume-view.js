'use strict'
// A flumedb view that needs no building: its log answers, by way of the log's own index.

const { nextTick } = require('node:process')
const { LogError, misuse } = require('@millrace/errors')
const { parseSteps, showPath } = require('./paths')

/**
 * @typedef {import('./paths').AskedPath} AskedPath
 * @typedef {(abort: Error | boolean | null, cb: (end: Error | boolean | null, item?: any) => void) => void} Source
 *
 * @typedef {object} FlumeView
 * @property {any} since  That of the log: the view is never behind it.
 * @property {{ get: 'async', read: 'source' }} methods
 * @property {(key: unknown, cb: (err: any, value?: any) => void) => void} get  Gives the newest record with a key.
 *   `err.notFound`: there is none.
 * @property {(options?: any) => Source} read  As `stream` of the log: `where`, `reverse`, `limit`, `live`, `gt`, ...
 * @property {(cb?: any) => (read: Source) => void} createSink
 * @property {(cb: (err: any) => void) => void} close
 * @property {(cb: (err: any) => void) => void} destroy
 */

/**
 * Makes a view for `db.use(name, view)` of flumedb. `db[name].get(key, cb)` gives the newest record whose value at the
 * path is the key, and `db[name].read({ where, reverse, limit, live })` is a pull-stream. Both are fast for paths that
 * the log's option `index` declares, and scan otherwise. The view keeps nothing, so it is never rebuilt.
 * @param {AskedPath} path  of the key in a record
 * @returns {(log: any, name: string) => FlumeView}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function createFlumeView (path) {
  const steps = parseSteps(path, 'createFlumeView')
  const name = showPath(steps, null)
  return (log) => ({
    since: log.since,
    methods: { get: 'async', read: 'source' },
    get: (key, cb) => {
      /** @type {Source} */
      let read
      try {
        if (key === undefined) throw misuse('get: expected a key, got undefined')
        const where = { path: steps, equals: key }
        read = log.stream({ where, reverse: true, limit: 1, seqs: false })
      } catch (err) {
        return nextTick(cb, err)
      }
      read(null, (end, value) => {
        if (end === null || end === false) return read(true, () => cb(null, value))
        if (end !== true) return nextTick(cb, end)
        const text = `no record has the ${name} ${JSON.stringify(key)}`
        nextTick(cb, Object.assign(new LogError('ERR_RECORD_NOT_FOUND', text), { notFound: true }))
      })
    },
    read: (options) => log.stream(options ?? {}),
    // flumedb hands it every record. It takes none: an unread source reads nothing.
    createSink: () => () => {},
    close: (cb) => cb(null),
    destroy: (cb) => cb(null)
  })
}

exports.createFlumeView = createFlumeView
