'use strict'
// The checksums of a log of lines: a page that another program, or the disk, has changed is damage, until somebody
// accepts it.

const fs = require('node:fs')
const tape = require('tape')
const { createRandom, failureOf, inQuickRuns, newPath } = require('@millrace/testkit')
const { jsonCodec } = require('@millrace/json-codec')
const { accept, repair, verify } = require('@millrace/repair')
const { OffsetLog } = require('..')

const PAGE = 16384
const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
const ROUNDS = process.env.LONG ? 500 : inQuickRuns(30, 4)

const openJson = (file, options) => OffsetLog(file, { framing: 'lines', codec: jsonCodec, ...options })

async function collect (log, options) {
  const found = []
  for await (const { seq, value } of log.stream(options)) found.push({ seq, n: value.n })
  return found
}

/** @returns {Promise<Array<{ seq: number, n: number, end: number }>>}  what was appended */
async function write (file, random, count, sizeMax, options) {
  const log = openJson(file, options)
  const records = []
  for (let n = 0; n < count; n++) {
    const value = { n, text: 'x'.repeat(random(sizeMax)) }
    const seq = await log.append(value)
    records.push({ seq, n, end: seq + JSON.stringify(value).length + 1 })
  }
  await log.close()
  return records
}

function changeByte (file, position) {
  const bytes = fs.readFileSync(file)
  bytes[position] = bytes[position] === 120 ? 121 : bytes[position] ^ 1
  fs.writeFileSync(file, bytes)
}

const withoutEnd = (records) => records.map(({ seq, n }) => ({ seq, n }))

tape(`lines: a changed byte costs the lines of its page, and nobody gets them (seed ${seed})`, async (t) => {
  let lines = 0
  for (let round = 0; round < ROUNDS; round++) {
    const random = createRandom(seed + round)
    const file = newPath('events.jsonl')
    // Above the part that opening looks at.
    const sizeMax = [300, 5000, 40000][random(3)]
    const records = await write(file, random, Math.ceil(4e6 / sizeMax) + random(100), sizeMax, { fsync: 'never' })
    const pageCount = Math.floor(fs.statSync(file).size / PAGE)
    const page = random(pageCount - 70)
    changeByte(file, page * PAGE + random(PAGE))
    const touches = ({ seq, end }) => seq < (page + 1) * PAGE && end > page * PAGE
    const good = withoutEnd(records.filter((record) => !touches(record)))
    const name = `seed ${seed + round}, page ${page}`
    for (const flags of ['r', 'r+']) {
      const log = openJson(file, { flags, onCorrupt: 'skip' })
      if (JSON.stringify(await collect(log)) !== JSON.stringify(good)) t.fail(`${name}: a skipping stream has not just the good lines`)
      if (JSON.stringify((await collect(log, { reverse: true })).reverse()) !== JSON.stringify(good)) t.fail(`${name}: nor has a reversed one`)
      const strict = await collect(log, { onCorrupt: 'error' }).catch((err) => err)
      await log.close()
      const failing = openJson(file, { flags })
      for (const reverse of [false, true]) {
        const err = await collect(failing, { reverse }).catch((err) => err)
        if (err.code !== 'ERR_LOG_CORRUPT' || !/--accept/.test(err.message)) t.fail(`${name}: no ERR_LOG_CORRUPT, ${strict}`)
      }
      const some = Array.from({ length: 9 }, () => records[random(records.length)])
      for (const record of [...records.filter(touches).slice(0, 9), ...some]) {
        const value = await failing.get(record.seq).catch((err) => err)
        if (touches(record) ? value.code !== 'ERR_LOG_CORRUPT' : value.n !== record.n) t.fail(`${name}: get of ${record.seq}: ${value}`)
        lines++
      }
      await failing.close()
    }
    const report = await verify(file)
    if (report.isSound || report.damageCount !== 1) t.fail(`${name}: verify found ${JSON.stringify(report.damage)}`)
    await accept(file)
    if (!(await verify(file)).isSound) t.fail(`${name}: not accepted`)
  }
  t.ok(lines > 0, `${lines} lines`)
})

tape('lines: with verify false, nothing is compared', async (t) => {
  const file = newPath('events.jsonl')
  const records = await write(file, createRandom(1), 3000, 1000, { fsync: 'never' })
  changeByte(file, records.find(({ seq, end }) => end - seq > 99).end - 9)
  const log = openJson(file, { verify: false })
  t.equal((await collect(log)).length, 3000)
  await log.close()
})

tape('lines: what another program changed is said at each opening, until somebody accepts it', async (t) => {
  const file = newPath('events.jsonl')
  await write(file, createRandom(2), 300, 400)
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('{"n":7,', '{"n":77777,'))
  for (const flags of ['r', 'r+', 'r+', 'r']) {
    const log = openJson(file, { flags })
    await log.ready()
    t.match(log.recovery.changed, /another program .*--accept/, flags)
    t.equal((await collect(log))[7].n, 77777, 'the lines are read as they are')
    if (flags === 'r+') await log.append({ n: -1 })
    await log.close()
  }
  const before = await verify(file)
  t.notOk(before.isSound)
  t.match(before.changed, /another program/)
  const { size, changed } = await accept(file)
  t.equal(size, fs.statSync(file).size)
  t.match(changed, /another program/)
  const after = await verify(file)
  t.ok(after.isSound)
  t.deepEqual([after.changed, after.records, after.framing], [null, 302, 'lines'])
  const log = openJson(file)
  await log.ready()
  t.equal(log.recovery, null)
  await log.close()
  changeByte(file, 20000)
  t.notOk((await verify(file)).isSound, 'its checksums are those of the accepted text')
})

tape('lines: a text file of any size that another program wrote opens again and again, with sums and without', async (t) => {
  for (const count of [1, 200, 2000, 40000, 150000]) {
    const file = newPath('events.jsonl')
    fs.writeFileSync(file, Array.from({ length: count }, (_, n) => `{"n":${n}}\n`).join(''))
    for (let round = 0; round < 6; round++) {
      if (round === 3) fs.unlinkSync(`${file}.sums`)
      const log = openJson(file)
      await log.append(round % 2 === 0 ? { n: -1 } : [{ n: -1 }, { n: -1 }])
      await log.close()
      if (!(await verify(file)).isSound) t.fail(`${count} lines, round ${round}: not sound`)
    }
    const log = openJson(file)
    t.equal((await collect(log)).length, count + 9, `${count} lines`)
    t.equal(log.recovery, null)
    await log.close()
  }
})

tape('lines: sums that are left of another file cut nothing of this one', async (t) => {
  const old = newPath('old.jsonl')
  const log = openJson(old)
  await log.append([{ n: 1 }, { n: 2 }])
  // As if the process had been killed here.
  const file = newPath('events.jsonl')
  fs.copyFileSync(`${old}.sums`, `${file}.sums`)
  await log.close()
  const text = '{"n":7}\n{"n":8}\n{"n":9}\n'
  fs.writeFileSync(file, text)
  const other = openJson(file)
  t.deepEqual((await collect(other)).map(({ n }) => n), [7, 8, 9])
  await other.close()
  t.equal(fs.readFileSync(file, 'utf8'), text)
})

for (const framing of ['offset32', 'offset48', 'offset53']) {
  tape(`lines: sums that are left have no new log taken for lines: ${framing}`, async (t) => {
    for (const isThere of [false, true]) {
      const file = newPath('events.log')
      await write(file, createRandom(seed), 3, 10)
      fs.rmSync(file)
      if (isThere) fs.writeFileSync(file, '')
      const open = (options) => OffsetLog(file, { codec: jsonCodec, ...options })
      const log = open({ framing })
      await log.append([{ n: 7 }, { n: 8 }])
      await log.close()
      for (const options of [{ flags: 'r' }, { framing }, {}]) {
        const again = open(options)
        t.deepEqual((await collect(again)).map(({ n }) => n), [7, 8], JSON.stringify(options))
        await again.close()
      }
    }
  })
}

tape('lines: no copy of another framing is made beside sums that are left', async (t) => {
  const [file, copy] = [newPath('events.log'), newPath('copy.log')]
  const log = OffsetLog(file, { codec: jsonCodec, framing: 'offset32' })
  await log.append({ n: 1 })
  await write(copy, createRandom(seed), 3, 10)
  fs.rmSync(copy)
  const makers = { snapshot: () => log.snapshot(copy), repair: () => repair(file, copy, { write: true }) }
  for (const [name, make] of Object.entries(makers)) {
    const err = await failureOf(make)
    t.deepEqual([err?.code, err?.path], ['EEXIST', `${copy}.sums`], name)
    t.notOk(fs.existsSync(copy))
  }
  fs.rmSync(`${copy}.sums`)
  await repair(file, copy, { write: true })
  await log.close()
})

tape('lines: plain text that a killed process left without its line break is torn', async (t) => {
  const file = newPath('events.txt')
  const log = OffsetLog(file, { framing: 'lines', lock: false })
  await log.append(Buffer.from('one'))
  const copy = newPath('copy.txt')
  fs.copyFileSync(`${file}.sums`, `${copy}.sums`)
  fs.writeFileSync(copy, 'one\ntw')
  await log.close()
  const again = OffsetLog(copy, { framing: 'lines' })
  t.equal(await again.count(), 1)
  t.deepEqual([again.recovery.offset, again.recovery.size], [4, 2])
  await again.close()
})

tape('lines: the checksums survive a process that does not close its log', async (t) => {
  const file = newPath('events.jsonl')
  const random = createRandom(3)
  const log = openJson(file, { lock: false })
  for (let n = 0; n < 300; n++) await log.append(Array.from({ length: 5 }, () => ({ n, text: 'x'.repeat(random(4000)) })))
  await log.sync()
  const copy = newPath('copy.jsonl')
  fs.copyFileSync(file, copy)
  fs.copyFileSync(`${file}.sums`, `${copy}.sums`)
  await log.close()
  const again = openJson(copy)
  t.equal((await collect(again)).length, 1500)
  await again.close()
  for (const page of [0, 17, 100]) {
    const one = newPath('one.jsonl')
    fs.copyFileSync(copy, one)
    fs.copyFileSync(`${copy}.sums`, `${one}.sums`)
    changeByte(one, page * PAGE + 100)
    t.notOk((await verify(one)).isSound, `page ${page}`)
  }
})
