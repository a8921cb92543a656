'use strict'
// A forwarder of a text file. Any program may cut the file, write it anew, or put another one in its place: no line is
// skipped, and what a seq leads to now is not taken for what it led to before.

const fs = require('node:fs')
const tape = require('tape')
const { collect, createRandom, failureOf, inQuickRuns, newPath, until } = require('@millrace/testkit')
const { createCollector, forward, kindsOf, makeLog, range } = require('./helpers')
const { shipTo } = require('./ship-helpers')

const ROUNDS = inQuickRuns(20)
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
/** All lines have the same size, so that old seqs are the beginnings of new lines. */
const lines = (from, end) => range(from, end).map((n) => `{"n":${String(n).padStart(6)}}\n`).join('')
const openLines = (file, flags = 'r+') => makeLog({ framing: 'lines', flags }, file)

/** Forwards all that a file has. */
async function forwardAll (file, flags, options = {}) {
  const log = openLines(file, flags)
  const sink = createCollector()
  const forwarder = forward(log, { sink: sink.send, batch: { count: 7 }, ...options })
  await forwarder.drained()
  const { position } = forwarder
  await forwarder.close()
  await log.close()
  return { sent: sink.all, keys: sink.keys, reports: forwarder.reports, position, kinds: kindsOf(forwarder) }
}

for (const flags of ['r', 'r+']) {
  for (const [name, change] of [
    ['written anew, and as long', (file) => fs.writeFileSync(file, lines(100, 130))],
    ['written anew, and longer', (file) => fs.writeFileSync(file, lines(100, 160))],
    ['written anew, and shorter', (file) => fs.writeFileSync(file, lines(100, 105))],
    ['replaced', (file) => { fs.rmSync(file); fs.writeFileSync(file, lines(100, 160)) }],
    ['written anew, with the same line where the last one was', (file) => fs.writeFileSync(file, lines(100, 129) + lines(29, 60))],
    ['written anew, and lost what is beside it', (file) => {
      fs.writeFileSync(file, lines(100, 160))
      fs.rmSync(`${file}.sums`, { force: true })
    }]
  ]) {
    tape(`text: between two runs the file was ${name}, flags ${flags}: no line is skipped, and no key comes again`, async (t) => {
      const file = newPath('events.jsonl')
      fs.writeFileSync(file, lines(0, 30))
      const first = await forwardAll(file, flags)
      t.deepEqual(first.sent, range(0, 30))
      change(file)
      const now = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line).n)
      const second = await forwardAll(file, flags)
      t.deepEqual(second.sent, now)
      t.deepEqual(second.kinds, ['cursor'], second.reports[0]?.message)
      t.deepEqual(second.keys.filter((key) => first.keys.includes(key)), [])
      const third = await forwardAll(file, flags)
      t.deepEqual([third.sent, third.reports], [[], []])
    })
  }

  tape(`text: what is as it was is not sent again, flags ${flags}`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, lines(0, 30))
    await forwardAll(file, flags)
    fs.appendFileSync(file, lines(30, 33))
    t.deepEqual((await forwardAll(file, flags)).sent, range(30, 33))
    // Another inode, and another id.
    fs.copyFileSync(file, `${file}~`)
    fs.renameSync(`${file}~`, file)
    fs.rmSync(`${file}.sums`, { force: true })
    fs.appendFileSync(file, lines(33, 35))
    const last = await forwardAll(file, flags)
    t.deepEqual([last.sent, last.reports], [range(33, 35), []])
  })

  tape(`text: a cursor that begins with the next line knows the one before, flags ${flags}`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, lines(0, 30))
    t.deepEqual((await forwardAll(file, flags, { start: 'next' })).sent, [])
    t.deepEqual((await forwardAll(file, flags, { start: 'next' })).sent, [])
    fs.writeFileSync(file, lines(100, 160))
    t.deepEqual((await forwardAll(file, flags, { start: 'next' })).sent, range(100, 160))
  })
}

tape('text: after a torn end nothing is sent again, and new lines in its place have keys of their own', async (t) => {
  const file = newPath('events.jsonl')
  const log = openLines(file)
  await log.append(range(0, 10).map((n) => ({ n })))
  await log.close()
  const first = await forwardAll(file)
  fs.appendFileSync(file, '{"n":10')
  const again = openLines(file)
  await again.append({ n: 11 })
  await again.close()
  const second = await forwardAll(file)
  t.deepEqual([second.sent, second.reports], [[11], []])
  const [before] = first.keys[0].split('-')
  const [after] = second.keys[0].split('-')
  t.equal(before.split('.')[0], after.split('.')[0], 'the id is the same')
  t.notEqual(before, after)
})

for (const [name, change] of [
  ['cut and written anew', (file) => fs.writeFileSync(file, lines(100, 160))],
  ['emptied', (file) => fs.truncateSync(file, 0)],
  ['replaced', (file) => {
    fs.renameSync(file, `${file}.1`)
    fs.writeFileSync(file, lines(100, 160))
  }]
]) {
  tape(`text: a file that is ${name} while it is forwarded ends the forwarder, which says so; the next one skips nothing`, async (t) => {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, lines(0, 30))
    const log = openLines(file, 'r')
    const sink = createCollector()
    const forwarder = forward(log, { sink: sink.send })
    await until(() => sink.all.length === 30)
    change(file)
    await until(() => forwarder.reports.length > 0)
    const [{ what, error }] = forwarder.reports
    t.deepEqual([what, error.code], ['stopped', 'ERR_LOG_REPLACED'], error.message)
    t.equal((await failureOf(() => forwarder.drained())).code, 'ERR_LOG_REPLACED')
    await forwarder.close()
    await log.close()
    t.deepEqual(sink.all, range(0, 30))
    fs.appendFileSync(file, lines(160, 170))
    const now = fs.readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line).n)
    t.deepEqual((await forwardAll(file, 'r')).sent, now)
  })
}

tape('text: what a file had, and still got, when another one took its name is sent before the forwarder ends: it was lost', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, lines(0, 30))
  const log = openLines(file, 'r')
  const sent = []
  let [waiting, goOn] = [null, () => {}]
  const sink = async (records) => {
    await waiting
    sent.push(...records.map(({ value }) => value.n))
  }
  const forwarder = forward(log, { sink, batch: { count: 10 } })
  await until(() => sent.length === 30)
  waiting = new Promise((resolve) => { goOn = resolve })
  fs.appendFileSync(file, lines(30, 5000))
  await log.refresh()
  fs.renameSync(file, `${file}.1`)
  fs.appendFileSync(`${file}.1`, lines(5000, 5020))
  fs.writeFileSync(file, lines(9000, 9010))
  t.equal((await failureOf(() => log.refresh())).code, 'ERR_LOG_REPLACED')
  // Now the forwarder knows it, too.
  forwarder.drained().catch(() => {})
  await failureOf(() => log.refresh())
  goOn()
  await until(() => forwarder.reports.length > 0)
  t.equal(forwarder.reports[0].error.code, 'ERR_LOG_REPLACED', 'the path has another log')
  await forwarder.close()
  await log.close()
  t.deepEqual(sent, range(0, 5020))
  t.deepEqual((await forwardAll(file, 'r')).sent, range(9000, 9010))
})

tape(`text: whatever is done to the file between runs, each line that it has after the first change is sent (seed ${seed})`, async (t) => {
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const file = newPath('events.jsonl')
    let text = ''
    let n = 0
    const add = (count) => {
      text += lines(n, n + count)
      n += count
    }
    for (let run = 0; run < 8; run++) {
      const before = text
      if (random(3) === 0) {
        const kept = random(text.length / 13 + 1)
        text = random(2) ? text.slice(0, 13 * kept) : text.slice(13 * kept)
      }
      add(1 + random(20))
      fs.writeFileSync(file, text)
      if (random(4) === 0) fs.rmSync(`${file}.sums`, { force: true })
      const { sent } = await forwardAll(file, random(2) ? 'r' : 'r+')
      let common = 0
      while (common < before.length && before[common] === text[common]) common++
      const news = text.slice(13 * Math.floor(common / 13)).trim().split('\n').map((line) => JSON.parse(line).n)
      const missing = news.filter((n) => !sent.includes(n))
      if (missing.length > 0) t.fail(`seed ${seed + round}, run ${run}: ${missing.length} lines were skipped`)
    }
  }
  t.pass(`${ROUNDS} files`)
})

tape('text: a forwarder that began before the first line was there names its log as the next one does', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, '')
  const log = openLines(file, 'r')
  const target = makeLog({}, newPath('target'))
  const shipper = shipTo(log, target)
  await shipper.drained()
  const writer = openLines(file)
  for (const n of range(0, 10)) await writer.append({ n })
  await log.refresh()
  await shipper.drained()
  const { id } = await writer.stats()
  t.deepEqual((await collect(target.stream({ seqs: false }))).map(({ log }) => log), Array(10).fill(id))
  await shipper.close()
  await log.close()
  await writer.append({ n: 10 })
  const again = shipTo(writer, target)
  await again.drained()
  t.equal((await again.verify()).isSame, true)
  await again.close()
  await writer.close()
  await target.close()
})

tape('text: what was shipped of a file without .sums is shipped on once there are some', async (t) => {
  const file = newPath('events.jsonl')
  fs.writeFileSync(file, lines(0, 30))
  const target = makeLog({}, newPath('target'))
  const ship = async (log) => {
    const shipper = shipTo(log, target, { batch: { count: 7 } })
    await shipper.drained()
    t.equal((await shipper.verify()).isSame, true)
    await shipper.close()
    return kindsOf(shipper)
  }
  const reader = openLines(file, 'r')
  await ship(reader)
  await reader.close()
  for (const next of [30, 31]) {
    const writer = openLines(file)
    await writer.append({ n: next })
    t.deepEqual(await ship(writer), [])
    await writer.close()
  }
  t.deepEqual((await collect(target.stream({ seqs: false }))).map(({ value }) => value.n), range(0, 32))
  await target.close()
})
