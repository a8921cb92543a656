'use strict'

const fs = require('node:fs')
const http = require('node:http')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { newPath, temporaryFolder } = require('@millrace/testkit')
const { descend, outline, summarize } = require('../lib/viewer/outline')
const { openViewed } = require('../lib/viewer/open')
const { readTime } = require('../lib/viewer/records')
const { serve } = require('../lib/viewer/server')
const { estimate, toTimeline } = require('../lib/viewer/timeline')
const { holdLog, makeFiles } = require('./kinds-of-files')
const { runCommand } = require('./run-command')

const START_MS = Date.parse('2026-01-01T00:00:00Z')

/** A record of the tests: sizes vary, times rise. */
function createRecord (index) {
  return { timestamp: START_MS + index * 1000, level: index % 5 * 10, text: 'x'.repeat(index * 37 % 400) }
}

/** @returns {Promise<{ file: string, seqs: number[] }>} */
async function makeLog (count, options = {}) {
  const file = newPath('events.log')
  const log = OffsetLog(file, { codec: jsonCodec, ...options })
  const seqs = []
  for (let index = 0; index < count; index++) log.append(createRecord(index)).then((seq) => seqs.push(seq))
  await log.close()
  return { file, seqs }
}

/** Opens a viewer for a test, and gives what asks it. */
async function view (t, file) {
  const { viewed, close: closeLog } = await openViewed(file)
  const { url, close } = await serve(viewed)
  t.teardown(async () => {
    await close()
    await closeLog()
  })
  const ask = async (name) => {
    const response = await fetch(url + name)
    const text = await response.text()
    return text.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line))
  }
  return { url, ask }
}

/** Sends headers that fetch would not. @returns {Promise<{ status: number, headers: object, body: string }>} */
function request (url, { path = url, headers = {}, method = 'GET' } = {}) {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url)
    const target = path.startsWith('http') ? new URL(path).pathname : path
    http.request({ port, host: '127.0.0.1', path: target, method, headers }, (response) => {
      let body = ''
      response.on('data', (part) => { body += part })
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }))
    }).on('error', reject).end()
  })
}

tape('viewer: pages from the newest record on hold every record once', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const { file, seqs } = await makeLog(500, { framing })
    const { ask } = await view(t, file)
    const found = []
    for (let isLast = false; !isLast;) {
      const [page] = await ask(`page?count=60${found.length > 0 ? `&before=${found.at(-1)}` : ''}`)
      found.push(...page.rows.map(({ seq }) => seq))
      isLast = page.isLast
    }
    t.deepEqual(found, [...seqs].reverse(), framing)
    const [{ rows }] = await ask(`page?from=${seqs[100]}&count=3`)
    t.deepEqual(rows.map(({ seq }) => seq), [seqs[102], seqs[101], seqs[100]])
    t.equal(rows[2].time, createRecord(100).timestamp)
  }
})

tape('viewer: a search finds what a filter of decoded records finds', async (t) => {
  const { file, seqs } = await makeLog(3000)
  const { ask } = await view(t, file)
  const expected = seqs.filter((_, index) => createRecord(index).level === 30 && createRecord(index).text.length > 100)
  const lines = await ask(`search?query=${encodeURIComponent(`level=30 ${'x'.repeat(101)}`)}&count=10000`)
  t.deepEqual(lines.filter(({ row }) => row).map(({ row }) => row.seq), expected.reverse())
  t.deepEqual(lines.at(-1), { isDone: true, isLast: true })
  const [wrong] = await ask(`search?query=${encodeURIComponent('level={"a":1}')}`)
  t.ok(wrong.error)
})

tape('viewer: the count and the estimate of a log', async (t) => {
  for (const framing of ['checked', 'offset32']) {
    const { file } = await makeLog(20_000, { framing })
    const { ask } = await view(t, file)
    const counted = (await ask('count')).findLast(({ timeline }) => timeline).timeline
    t.equal(counted.count, 20_000, framing)
    t.equal(counted.isCounted, true)
    const sum = counted.counts.reduce((sum, count) => sum + count, 0)
    t.ok(Math.abs(sum - 20_000) <= counted.counts.length, String(sum))
    t.deepEqual([counted.unit, counted.start], ['time', START_MS])
    const estimated = (await ask('timeline')).findLast(({ timeline }) => timeline).timeline
    t.ok(Math.abs(estimated.count - 20_000) < 4000, `about ${estimated.count}`)
    t.equal(estimated.isCounted, framing !== 'checked')
  }
})

tape('viewer: an estimate over seqs with a gap of 2^33 looks where records are', async (t) => {
  const seqs = Array.from({ length: 1000 }, (_, index) => index * 100 + (index < 500 ? 0 : 2 ** 33))
  const records = seqs.map((seq) => ({ seq, size: 96, time: null }))
  let count = 0
  const probe = async (bound) => {
    count++
    return records.find(({ seq }) => seq >= bound) ?? null
  }
  let last
  const part = { slot: null, since: records.at(-1).seq, probe }
  await estimate([part], (timeline) => { last = timeline }, new AbortController().signal)
  t.ok(Math.abs(last.count - 1000) < 100, `about ${last.count}`)
  t.ok(count < 1000, `${count} looks`)
  t.equal(last.unit, 'index')
})

tape('viewer: a few records are all in the time line: they were spread over bins, and rounded away', async (t) => {
  for (const count of [1, 2, 4, 50, 119, 120]) {
    for (const time of [null, START_MS]) {
      const minutes = Array.from({ length: count }, (_, index) => index)
      const records = minutes.map((minute) => ({ seq: minute * 110, size: 100, time: time && time + minute * 60_000 }))
      const probe = async (bound) => records.find(({ seq }) => seq >= bound) ?? null
      let last
      const part = { slot: null, since: records.at(-1).seq, probe }
      await estimate([part], (timeline) => { last = timeline }, new AbortController().signal)
      t.equal(last.counts.reduce((sum, count) => sum + count, 0), count, `${count} of ${last.unit}`)
      if (time !== null) continue
      t.deepEqual(last.counts, Array(count).fill(1), 'a bar each')
      t.deepEqual(last.places, records.map(({ seq }) => seq), 'which leads to it')
    }
  }
})

tape('viewer: a time line of one record, and of wrong clocks', (t) => {
  const one = toTimeline([{ slot: null, samples: [{ seq: 5, time: 1000, count: 1 }] }], true)
  t.equal(one.counts.reduce((sum, count) => sum + count, 0), 1)
  const samples = Array.from({ length: 1000 }, (_, index) => ({ seq: index, time: START_MS + index, count: 1 }))
  samples[500].time = 0
  samples[501].time = START_MS * 2
  const { start, end } = toTimeline([{ slot: null, samples }], true)
  t.ok(start >= START_MS && end <= START_MS + 1000)
  t.end()
})

tape('viewer: what is appended is told, and a request that ends ends the work for it', async (t) => {
  const { file, seqs } = await makeLog(3)
  const writer = OffsetLog(file, { codec: jsonCodec })
  await writer.ready()
  const { url } = await view(t, file)
  const gone = new AbortController()
  const response = await fetch(`${url}tail?after=${seqs[2]}`, { signal: gone.signal })
  const reader = response.body.getReader()
  const seq = await writer.append({ text: 'new' })
  const { value } = await reader.read()
  const { rows } = JSON.parse(Buffer.from(value).toString().split('\n')[0])
  t.deepEqual(rows.map(({ seq }) => seq), [seq])
  gone.abort()
  await writer.close()
})

tape('viewer: who follows is told that the file was removed, or cut off', async (t) => {
  for (const [how, hurt] of Object.entries({ removed: fs.rmSync, 'cut off': (/** @type {string} */ file) => fs.truncateSync(file, 40_000) })) {
    const { file, seqs } = await makeLog(300)
    const { ask } = await view(t, file)
    const told = ask(`tail?after=${seqs.at(-1)}`)
    hurt(file)
    const [{ error }] = await told
    t.match(error, /removed|cut committed records off/, how)
  }
})

tape('viewer: one search finds 1000 records at most, and a count of none is refused', async (t) => {
  const { file } = await makeLog(1500)
  const { ask } = await view(t, file)
  const lines = await ask('search?query=timestamp&count=1e9')
  t.equal(lines.filter(({ row }) => row).length, 1000)
  t.deepEqual(lines.at(-1), { isDone: true, isLast: false })
  for (const count of [-1, 0, 0.5, -7]) t.match((await ask(`page?count=${count}`))[0].error, /whole number above 0/)
  const [{ tree }] = await ask('record?seq=32808&from=-5')
  t.equal(tree.members.length, 3, 'a part from before the first member is the first part')
})

tape('viewer: verify tells of damage, and pages go on behind it', async (t) => {
  const { file, seqs } = await makeLog(1000)
  const bytes = fs.readFileSync(file)
  bytes[Math.floor(bytes.length / 2)] ^= 1
  fs.writeFileSync(file, bytes)
  const { ask } = await view(t, file)
  const lines = await ask('verify')
  const { report } = lines.at(-1)
  t.equal(report.isSound, false)
  t.equal(lines.filter(({ damage }) => damage).length, report.damageCount)
  let found = 0
  for (let isLast = false, before = ''; !isLast;) {
    const [page] = await ask(`page?count=200${before}`)
    found += page.rows.length
    before = `&before=${page.rows.at(-1)?.seq}`
    isLast = page.isLast
  }
  t.equal(found, report.records - report.mendable)
  t.ok(found < seqs.length)
})

tape('viewer: only the loopback, this origin, GET and the token are answered', async (t) => {
  const { file } = await makeLog(1)
  const { url } = await view(t, file)
  const { host } = new URL(url)
  const status = async (options) => (await request(url, { headers: { host }, ...options })).status
  t.equal(await status({}), 200)
  t.equal(await status({ headers: { host: `localhost:${new URL(url).port}` } }), 200)
  t.equal(await status({ headers: { host: 'evil.example' } }), 403, 'another name that leads here')
  t.equal(await status({ headers: { host: '127.0.0.1' } }), 403)
  for (const site of ['cross-site', 'same-site']) t.equal(await status({ headers: { host, 'sec-fetch-site': site } }), 403, site)
  t.equal(await status({ headers: { host, 'sec-fetch-site': 'same-origin' } }), 200)
  for (const method of ['POST', 'HEAD', 'OPTIONS', 'DELETE']) t.equal(await status({ method }), 405, method)
  t.equal(await status({ path: '/' }), 404)
  t.equal(await status({ path: `/${'0'.repeat(32)}/info` }), 404)
  const { pathname } = new URL(url)
  for (const name of ['../package.json', '..%2fpackage.json', 'constructor', '__proto__', 'toString', 'info/', '%00']) {
    t.equal(await status({ path: pathname + name }), 404, name)
  }
  const { headers } = await request(url, { headers: { host } })
  t.match(headers['content-security-policy'], /default-src 'none'.*connect-src 'self'.*trusted-types 'none'/)
  t.equal(headers['access-control-allow-origin'], undefined)
  t.equal(headers['cross-origin-resource-policy'], 'same-origin')
  t.equal(headers['cache-control'], 'no-store')
})

tape('viewer: wrong parameters are answered with a message', async (t) => {
  const { file } = await makeLog(1)
  const { ask } = await view(t, file)
  for (const name of ['page?before=x', 'page?count=NaN', 'record', 'record?seq=0&path={', 'record?seq=0&path=[{}]', 'tail', 'page?from=-1&count=-5']) {
    const [{ error }] = await ask(name)
    t.equal(typeof error, 'string', `${name}: ${error}`)
  }
})

tape('view: on every kind of file, until it is interrupted', async (t) => {
  const folder = temporaryFolder()
  await makeFiles(folder)
  const release = await holdLog(path.join(folder, 'written'))
  const codes = { ssb: 0, checked: 0, truncated: 0, flipped: 0, empty: 0, folder: 2, missing: 2, text: 1, written: 0 }
  for (const [kind, expected] of Object.entries(codes)) {
    let answer = null
    const { code, signal, stdout, stderr } = await runCommand(['view', path.join(folder, kind)], {
      onSpawn: (child) => child.stdout.once('data', async (url) => {
        answer = await fetch(`${String(url).trim()}page`).then((response) => response.json(), (err) => err)
        child.kill('SIGINT')
      })
    })
    if (expected === 0) {
      t.match(stdout, /^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{32}\/\n$/, kind)
      t.equal(signal, 'SIGINT')
      t.ok(Array.isArray(answer?.rows) && (answer.rows.length > 0) === (kind !== 'empty'), JSON.stringify(answer).slice(0, 200))
    } else {
      t.equal(code, expected, kind)
      t.match(stderr, /^millrace: .+\n/)
      t.doesNotMatch(stderr, /\n +at /)
    }
  }
  await release()
})

tape('outline: its parts put together are the value, and each part is small', (t) => {
  const value = {
    text: 'ab'.repeat(50_000),
    list: Array.from({ length: 1234 }, (_, index) => ({ index })),
    deep: { a: { b: { c: { d: { e: { f: [1, 2, [3, { g: null }]] } } } } } },
    '': { __proto__: null, toString: 1 },
    bytes: Buffer.from('00ff', 'hex'),
    scalars: [true, false, null, -0, 1e21, 12345678901234567890n, undefined]
  }
  Object.defineProperty(value, '__proto__', { value: 'own', enumerable: true })
  const rebuild = (path) => {
    const { found, value: part } = descend(value, path)
    t.ok(found)
    const first = outline(part)
    if (JSON.stringify(first).length > 200_000) t.fail(`${path}: too large`)
    if (first.kind === 'string') {
      let text = first.text
      while (text.length < first.size) text += outline(part, text.length).text
      return text
    }
    if (first.kind !== 'array' && first.kind !== 'object') return first.text
    const members = []
    while (members.length < first.size) members.push(...outline(part, members.length).members)
    return members.map(([key]) => [key, rebuild([...path, key])])
  }
  const plain = (value) => {
    if (typeof value === 'string') return value
    if (value === null || typeof value !== 'object' || ArrayBuffer.isView(value)) return outline(value).text
    return Object.keys(value).map((key) => [Array.isArray(value) ? Number(key) : key, plain(value[key])])
  }
  t.deepEqual(rebuild([]), plain(value))
  t.deepEqual(descend(value, ['toString']), { found: false }, 'what is inherited is no member')
  t.end()
})

tape('outline: one line of a huge value stops early', (t) => {
  const huge = 'x'.repeat(10_000_000)
  t.equal(summarize({ a: huge }, 100).length, 101)
  t.equal(summarize(Array.from({ length: 1e6 }, () => huge), 100).length, 101)
  let deep = []
  for (let index = 0; index < 10_000; index++) deep = [deep]
  t.ok(summarize(deep, 100).length <= 101)
  t.ok(JSON.stringify(outline(deep)).length < 10_000)
  t.equal(summarize({ a: [1, 'b', null, -0, 10n], c: {} }, 100), '{"a":[1,"b",null,-0,10n],"c":{}}')
  t.end()
})

tape('times: at the path, or wherever a logger writes it, whatever its unit', (t) => {
  const ms = Date.parse('2026-03-04T05:06:07Z')
  t.equal(readTime({ value: { timestamp: ms } }, null), ms)
  for (const none of [{ time: 'soon' }, 1, null, 'x', [], {}]) t.equal(readTime(none, null), null)
  for (const time of [ms, ms / 1000, ms * 1000, BigInt(ms) * 1_000_000n, '2026-03-04T05:06:07Z', '2026-03-04 05:06:07Z']) {
    t.equal(readTime({ time }, ['time']), ms, String(time))
  }
  for (const time of ['12', 'Tuesday', 5, -1, NaN, Infinity, 1e300, null, {}]) t.equal(readTime({ time }, ['time']), null, String(time))
  t.end()
})
