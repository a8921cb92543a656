'use strict'
// How long the viewer's first screen takes with a large log and a small one, in turns: from the navigation of the
// browser to the first painted record, and to the sampled time line; beside a static page of one line, which shows what
// the browser itself takes, and the server's own time for the first records. It fails if the large log takes more than
// 200 ms. Needs Chromium and room for the log. Usage: node packages/millrace/test/speed/viewer.js [GB] [runs]

const { spawn } = require('node:child_process')
const { once } = require('node:events')
const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const { OffsetLog } = require('@millrace/offset-log')
const { temporaryFolder } = require('@millrace/testkit')
const { withBrowser } = require('../../../../test/browser')
const { BIN } = require('../run-command')

const LIMIT_MS = 200
const START_MS = Date.parse('2026-01-01T00:00:00Z')
const BATCH_COUNT = 5000

main(Number(process.argv[2] ?? 10), Number(process.argv[3] ?? 7))

async function main (gigabytes, runs) {
  const folder = temporaryFolder()
  const files = { small: path.join(folder, 'small.log'), large: path.join(folder, 'large.log') }
  await makeLog(files.small, 1e6)
  await makeLog(files.large, gigabytes * 1e9)
  const times = { small: [], large: [] }
  await withBrowser(async (open) => {
    // A browser that was just started is slow, whatever it shows.
    await open({ url: 'about:blank' })
    for (let run = 0; run < runs; run++) {
      for (const name of Object.keys(files)) times[name].push(await measure(files[name], open))
    }
  })
  for (const [name, list] of Object.entries(times)) {
    const [bare, record, line, server] = ['bare', 'record', 'line', 'server'].map((what) => median(list.map((time) => time[what])).toFixed(0))
    const size = fs.statSync(files[name]).size / 1e9
    console.log(`${name}, ${size.toFixed(3)} GB: first record ${record} ms, time line ${line} ms; a static page ${bare} ms; ` +
      `the server alone ${server} ms`)
    if (record > LIMIT_MS) process.exitCode = 1
  }
}

/** Records of about 500 bytes, encoded by hand: there are 20 million in 10 GB. */
async function makeLog (file, size) {
  const log = OffsetLog(file, { codec: { name: 'json', buffer: true, encode: (bytes) => bytes, decode: (bytes) => bytes }, fsync: 'never' })
  const text = 'word '.repeat(80)
  for (let n = 0, written = 0; written < size;) {
    const batch = []
    for (let i = 0; i < BATCH_COUNT; i++, n++) {
      batch.push(Buffer.from(`{"timestamp":${START_MS + n},"type":"${n % 3 ? 'vote' : 'post'}","n":${n},"text":"${text}"}`))
      written += batch[i].length
    }
    await log.append(batch)
  }
  await log.close()
}

/** Each run is a server and a browser tab of its own. */
async function measure (file, open) {
  const server = spawn(process.execPath, [BIN, 'view', file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [url] = String((await once(server.stdout, 'data'))[0]).split('\n')
  const began = performance.now()
  await fetch(`${url}page?count=50`).then((response) => response.text())
  const answered = performance.now() - began
  const plain = http.createServer((request, response) => response.end('<!doctype html><ol id=list><li data-seq=0>1</ol><p id=chart><canvas>'))
  await once(plain.listen(0, '127.0.0.1'), 'listening')
  const { line: bare } = await look(`http://127.0.0.1:${plain.address().port}/`, open)
  const found = await look(url, open)
  plain.close()
  plain.closeAllConnections()
  server.kill('SIGINT')
  await once(server, 'exit')
  return { ...found, bare, server: answered }
}

async function look (url, open) {
  const { page } = await open({ url: 'about:blank' })
  await page.addInitScript(watch)
  await page.goto(url)
  await page.waitForFunction(() => window.found.record && window.found.line)
  const found = await page.evaluate(() => window.found)
  await page.context().close()
  return found
}

/** Runs in the page, before its own scripts: notes when something was first painted, in ms after the navigation. */
function watch () {
  const found = window.found = {}
  const note = (name) => {
    if (name in found) return
    found[name] = 0
    window.requestAnimationFrame(() => setTimeout(() => { found[name] = performance.now() }))
  }
  new window.MutationObserver(() => {
    if (document.querySelector('#list li[data-seq]')) note('record')
    if (document.querySelector('#chart canvas')) note('line')
  }).observe(document, { childList: true, subtree: true })
}

function median (times) {
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]
}
