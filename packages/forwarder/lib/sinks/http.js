'use strict'
// A sink that sends batches to an HTTP server, a line of JSON for each record (NDJSON).

const { checkOptions, misuse } = require('@millrace/errors')
const { HttpPost, HTTP_OPTIONS } = require('./http-post')
const { formatAll, toLine } = require('./lines')

/**
 * @typedef {import('../options').SinkRecord} SinkRecord
 * @typedef {object} OwnOptions
 * @property {((record: SinkRecord, log: string) => unknown) | undefined} [format]  gets a record and the id of the log,
 *   and returns what becomes a line of JSON; by default the value of the record
 * @typedef {import('./http-post').HttpOptions & OwnOptions} HttpSinkOptions
 */

/**
 * Makes a sink that sends each batch as a POST with a line of JSON for each record (`application/x-ndjson`). The header
 * `Idempotency-Key: "<key>"` has the key of the batch. The bytes of a log without a codec are sent as they are.
 *
 * A whole answer 2xx accepts the batch. 400 and 422 refuse records. 413 makes smaller batches. 429 and 503 with
 * `Retry-After` wait at least that long; a date is compared with the answer's `Date`. After any other answer, no
 * answer or a part of one, the batch is sent again. So a wrong token (401) or a wrong path (404) sets nothing aside:
 * the records wait until it is corrected. Redirects are not followed. An answer that comes before the whole batch was
 * read counts; if the connection is reset before the answer is there, the next try asks the server first (`Expect:
 * 100-continue`).
 * @param {string | URL} url  http: or https:
 * @param {HttpSinkOptions} [options]
 * @returns {import('../options').Sink}
 */
function httpSink (url, options = {}) {
  checkOptions('httpSink', options, [...HTTP_OPTIONS, 'format'])
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
