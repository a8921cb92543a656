'use strict'
// A sink that sends batches to an HTTP server, a line of JSON for each record (NDJSON).

const { misuse } = require('@millrace/errors')
const { checkObject } = require('../options')
const { HttpPost, HTTP_OPTIONS } = require('./http-post')
const { formatAll, toLine } = require('./lines')

/**
 * @typedef {import('../options').SinkRecord} SinkRecord
 * @typedef {import('./http-post').HttpOptions & {
 *   format?: ((record: SinkRecord, log: string) => unknown) | undefined
 * }} HttpSinkOptions  `format` returns what becomes a line of JSON
 */

/**
 * @param {string | URL} url
 * @param {HttpSinkOptions} [options]
 * @returns {import('../options').Sink}
 */
function httpSink (url, options = {}) {
  checkObject('httpSink', options, [...HTTP_OPTIONS, 'format'])
  const { format, ...httpOptions } = options
  if (format !== undefined && typeof format !== 'function') throw misuse('httpSink: format must be a function')
  const http = new HttpPost('httpSink', url, httpOptions)
  return {
    send: async (records, context) => {
      const { chunks, refused } = formatAll(records, (record) => {
        return toLine(format ? { value: format(record, context.log) } : record)
      })
      if (chunks.length > 0) await http.post(chunks.join(''), { 'content-type': 'application/x-ndjson' }, context)
      return { refused }
    },
    close: () => http.close()
  }
}

exports.httpSink = httpSink
