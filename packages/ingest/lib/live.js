'use strict'
// Live records as server-sent events. The id of an event is the seq, so a client that comes back says in
// `Last-Event-ID` where to go on, and gets no record twice and misses none.

const { once } = require('node:events')
const { onAbort } = require('@millrace/flow')
const { showRecord } = require('./record')

const HEARTBEAT_MS = 15_000
const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  // Some proxies keep answers until they are large.
  'X-Accel-Buffering': 'no'
}

/** @typedef {import('./named-logs').NamedLog} NamedLog */

/**
 * @param {NamedLog} entry
 * @param {{ after: number | null, where: any[] }} query  `after`: a seq; null for records that come from now on
 * @param {import('node:http').ServerResponse} response
 * @param {{ stallMs: number, signal: AbortSignal }} options  the signal ends the stream
 * @returns {Promise<void>}  once the stream has ended
 */
async function sendEvents ({ log }, { after, where }, response, { stallMs, signal }) {
  const gone = new AbortController()
  const end = () => gone.abort()
  response.once('close', end)
  const forget = onAbort(signal, end)
  if (signal.aborted) end()
  response.writeHead(200, HEADERS)
  // So that the client knows at once that it is connected.
  response.write(': connected\n\n')
  const heartbeat = setInterval(() => response.writableNeedDrain || response.write(':\n\n'), HEARTBEAT_MS)
  try {
    const begin = after === null ? { old: false } : { gt: after }
    const stream = log.stream({ ...begin, live: true, where, signal: gone.signal, unref: true })
    for await (const { seq, value } of stream) {
      const isRoom = response.write(`id: ${seq}\ndata: ${showRecord(seq, value)}\n\n`)
      // A reader that takes nothing is cut off: it resumes where it was.
      if (!isRoom) await drained(response, stallMs, gone)
    }
  } catch {
    // The client resumes, and is told what is wrong when it does.
  } finally {
    clearInterval(heartbeat)
    forget()
    if (response.writableNeedDrain) response.destroy()
    else response.end()
  }
}

/** @type {(response: import('node:http').ServerResponse, stallMs: number, gone: AbortController) => Promise<void>} */
async function drained (response, stallMs, gone) {
  // AbortSignal.any does not keep a signal of AbortSignal.timeout: if it was collected, it would never abort.
  const timer = setTimeout(() => gone.abort(), stallMs)
  try {
    await once(response, 'drain', { signal: gone.signal })
  } finally {
    clearTimeout(timer)
  }
}

exports.sendEvents = sendEvents
