'use strict'
// No seq is given twice: behind an unclean end the log goes on further ahead, and who goes on from a lost one is told.

const fs = require('node:fs')
const path = require('node:path')
const { execFileSync } = require('node:child_process')
const tape = require('tape')
const { SimulatedDisk, collect, createRandom, failureOf, newPath } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { repair, verify } = require('@millrace/repair')
const { crc, decodeLog, findLosses } = require('../../framing/test/checked-oracle')

const FILE = '/folder/log'
const OUT = '/folder/out'
const JUMP_SIZE = 2 ** 32
const seed = Date.now() % 2 ** 31

const open = (disk, options) => OffsetLog(FILE, { storage: disk.storage, fsync: 'never', ...options })
/** The power goes, and nothing is left but what was synced. */
const cut = (disk) => disk.crash(() => 0)

async function seqsOf (log, options) {
  return collect(log.stream({ ...options, values: false }))
}

async function codeOf (log, options) {
  return (await failureOf(() => seqsOf(log, options)))?.code
}

/** A log with records that are safe, lost, and appended after the loss. */
async function makeLoss ({ safe = ['one', 'two'], lost = ['lost', 'lost too'], after = ['three', 'four'] } = {}) {
  const disk = new SimulatedDisk({ defer: setImmediate })
  const first = open(disk)
  const append = async (log, texts) => {
    const seqs = []
    for (const text of texts) seqs.push(await log.append(Buffer.from(text)))
    return seqs
  }
  const safeSeqs = await append(first, safe)
  await first.sync()
  const lostSeqs = await append(first, lost)
  const left = cut(disk)
  const log = open(left)
  await log.ready()
  const afterSeqs = await append(log, after)
  return { disk: left, log, safe: safeSeqs, lost: lostSeqs, after: afterSeqs }
}

tape('seqs: what is appended after a power cut has others than what was lost', async (t) => {
  const { disk, log, safe, lost, after } = await makeLoss()
  t.ok(after[0] > lost[1] && after[0] - safe[0] >= JUMP_SIZE)
  t.deepEqual(await seqsOf(log), [...safe, ...after])
  t.deepEqual(await seqsOf(log, { reverse: true }), [...safe, ...after].reverse())
  for (const seq of [...safe, ...after]) t.ok(Buffer.isBuffer(await log.get(seq)))
  t.equal((await log.stats()).since, after[1])
  await log.close()
  const { frames, header } = decodeLog(disk.read(FILE))
  t.deepEqual(frames.map(({ seq }) => seq), [...safe, ...after])
  t.notOk(header.hasGaps)
})

tape('seqs: a bound at what was lost fails with ERR_LOG_SEQ_LOST, and one before or behind it does not', async (t) => {
  const { disk, log, safe, lost, after } = await makeLoss()
  const [{ end, position }] = findLosses(disk.read(FILE))
  const check = async (what) => {
    for (const seq of [...lost, end, position - 1]) {
      t.equal(await codeOf(log, { gt: seq }), 'ERR_LOG_SEQ_LOST', `${what}: gt ${seq}`)
      t.equal(await codeOf(log, { gt: seq, live: true }), 'ERR_LOG_SEQ_LOST')
      t.equal((await failureOf(() => log.scan({ gt: seq }, () => {})))?.code, 'ERR_LOG_SEQ_LOST')
    }
    for (const seq of lost) {
      t.equal(await codeOf(log, { gte: seq }), 'ERR_LOG_SEQ_LOST', `${what}: gte ${seq}`)
      t.equal(await codeOf(log, { gte: seq, onCorrupt: 'skip' }), 'ERR_LOG_SEQ_LOST')
      t.equal(await codeOf(log, { lt: seq, reverse: true }), 'ERR_LOG_SEQ_LOST')
      t.equal(await codeOf(log, { lte: seq, reverse: true }), 'ERR_LOG_SEQ_LOST')
      t.deepEqual(await seqsOf(log, { lt: seq }), safe, 'where reading begins is what counts')
      t.equal((await failureOf(() => log.get(seq)))?.code, 'ERR_LOG_SEQ_LOST')
    }
    t.deepEqual(await seqsOf(log, { gt: safe[1] }), after, 'the last record that is left')
    t.deepEqual(await seqsOf(log, { gte: safe[1] + 1 }), after)
    t.deepEqual(await seqsOf(log, { gt: -1 }), [...safe, ...after])
    t.deepEqual(await seqsOf(log, { gte: after[0] }), after)
    t.deepEqual(await seqsOf(log, { gt: after[0] }), [after[1]])
    t.deepEqual(await seqsOf(log, { lt: after[0], reverse: true }), [...safe].reverse())
    t.deepEqual(await seqsOf(log, { lte: safe[1], reverse: true }), [...safe].reverse())
    t.deepEqual(await seqsOf(log, { gt: lost[0], limit: 0 }), [])
  }
  await check('as it is')
  const reader = open(disk, { flags: 'r' })
  t.equal(await codeOf(reader, { gt: lost[1] }), 'ERR_LOG_SEQ_LOST', 'beside its writer')
  await reader.close()
  await log.snapshot(OUT)
  await log.compact()
  await check('compacted')
  await log.close()
  const copy = OffsetLog(OUT, { storage: disk.storage })
  t.equal(await codeOf(copy, { gt: lost[1] }), 'ERR_LOG_SEQ_LOST', 'in a snapshot')
  t.deepEqual(await seqsOf(copy), [...safe, ...after])
  await copy.close()
})

tape('seqs: a stream that waits behind what is lost fails once the log has grown', async (t) => {
  const { log, lost } = await makeLoss({ after: [] })
  t.ok(log.since.value < lost[1], 'since does not jump before there is a record')
  t.deepEqual(await seqsOf(log, { gt: lost[1] }), [])
  const waiting = codeOf(log, { gt: lost[1], live: true })
  await log.append(Buffer.from('more'))
  t.equal(await waiting, 'ERR_LOG_SEQ_LOST')
  await log.close()
})

tape('seqs: streams from before a jump go on behind it', async (t) => {
  const { log, safe } = await makeLoss({ after: [] })
  const still = log.stream({ values: false })
  const read = () => new Promise((resolve) => still(null, (end, seq) => resolve(end || seq)))
  t.equal(await read(), safe[0])
  const live = []
  const done = (async () => {
    for await (const seq of log.stream({ live: true, values: false })) if (live.push(seq) === 4) return
  })()
  const after = [await log.append(Buffer.from('a')), await log.append(Buffer.alloc(50000, 'b'))]
  await done
  t.deepEqual(live, [...safe, ...after])
  t.equal(await read(), safe[1])
  t.equal(await read(), true, 'one that is not live ends where the log ended')
  await log.close()
})

tape('seqs: a loss of which nothing was left on the disk is a loss all the same', async (t) => {
  const disk = new SimulatedDisk({ defer: setImmediate })
  const first = open(disk)
  const seq = await first.append(Buffer.from('safe'))
  await first.close()
  const second = open(disk)
  const lost = await second.append(Buffer.from('lost'))
  const left = cut(disk)
  const third = open(left)
  await third.ready()
  t.equal(third.recovery, null, 'the file is as the first one closed it')
  const next = await third.append(Buffer.from('next'))
  t.ok(next > lost + JUMP_SIZE / 2)
  t.equal(await codeOf(third, { gt: lost }), 'ERR_LOG_SEQ_LOST')
  t.deepEqual(await seqsOf(third), [seq, next])
  await third.close()
})

tape('seqs: two lost sessions in a row never meet', async (t) => {
  let disk = new SimulatedDisk({ defer: setImmediate })
  const given = new Set()
  for (let round = 0; round < 6; round++) {
    const log = open(disk)
    for (let count = 0; count < 3; count++) {
      const seq = await log.append(Buffer.alloc(100 * round))
      t.notOk(given.has(seq), `${seq}`)
      given.add(seq)
    }
    disk = cut(disk)
  }
  const log = open(disk)
  const last = await log.append(Buffer.from('last'))
  t.ok(last > Math.max(...given))
  for (const seq of given) t.equal(await codeOf(log, { gt: seq }), 'ERR_LOG_SEQ_LOST')
  t.deepEqual(await seqsOf(log), [last])
  await log.close()
})

tape('seqs: a loss is not forgotten by who opens the log and appends nothing', async (t) => {
  const { disk, log, lost } = await makeLoss({ after: [] })
  await log.compact()
  await log.close()
  const again = open(disk)
  await again.ready()
  await again.close()
  const third = open(disk)
  t.ok(await third.append(Buffer.from('next')) > JUMP_SIZE)
  t.equal(await codeOf(third, { gt: lost[1] }), 'ERR_LOG_SEQ_LOST')
  await third.close()
  const fourth = open(disk)
  const since = third.since.value
  t.ok(await fourth.append(Buffer.from('after a clean end')) < since + 1000, 'and it is made up for once')
  await fourth.close()
})

tape('seqs: a clean end leaves nothing out, in every mode', async (t) => {
  for (const fsync of ['always', 'interval', 'never']) {
    const disk = new SimulatedDisk({ defer: setImmediate })
    for (let round = 0; round < 4; round++) {
      const log = open(disk, { fsync })
      await log.append([Buffer.alloc(10), Buffer.alloc(20000)])
      if (round === 2) await log.compact()
      await log.close()
    }
    const { slot, chunks } = decodeLog(disk.read(FILE))
    t.equal(slot.reservedEnd, 0)
    t.ok(chunks.every(({ isAfterLoss }) => !isAfterLoss))
  }
})

tape('seqs: a process that is killed leaves nothing out, for nothing is lost', (t) => {
  const file = newPath('log')
  const script = `
    const { OffsetLog } = require(${JSON.stringify(path.join(__dirname, '..'))})
    const log = OffsetLog(${JSON.stringify(file)}, { fsync: process.argv[1] })
    const count = Number(process.argv[2])
    const end = (err, seq) => { console.log(err ? err.stack : seq); process.kill(process.pid, 'SIGKILL') }
    if (count === 0) log.ready(() => end(null, log.since.value))
    else log.append(Buffer.from('x'), end)`
  const run = (fsync, count) => {
    try {
      execFileSync(process.execPath, ['-e', script, fsync, String(count)], { stdio: ['ignore', 'pipe', 'ignore'] })
    } catch ({ stdout }) {
      return Number(stdout)
    }
  }
  const seqs = []
  for (const fsync of ['never', 'always', 'interval', 'always']) {
    seqs.push(run(fsync, 1))
    // One that appends nothing, and is killed too.
    run(fsync, 0)
  }
  if (!fs.existsSync('/proc/sys/kernel/random/boot_id')) t.skip('nothing here tells whether the machine was restarted')
  else t.deepEqual(seqs.map((seq) => seq - seqs[0]), [0, 45, 90, 135])
  fs.rmSync(`${file}.lock`)
  t.ok(run('never', 1) > JUMP_SIZE, 'without the lock nobody knows')
  t.end()
})

tape('seqs: after a sync that failed the page cache proves nothing', async (t) => {
  const disk = new SimulatedDisk({ defer: setImmediate })
  const log = open(disk)
  await log.append(Buffer.from('safe'))
  await log.sync()
  const lost = await log.append(Buffer.from('lost'))
  disk.decide = ({ name }) => name === 'sync' ? { losesPages: true } : undefined
  t.equal((await failureOf(() => log.sync()))?.code, 'ERR_LOG_POISONED')
  await failureOf(() => log.close())
  disk.decide = () => {}
  disk.dropCaches()
  const again = open(disk)
  t.notEqual(await again.append(Buffer.from('next')), lost)
  t.equal(await codeOf(again, { gt: lost }), 'ERR_LOG_SEQ_LOST')
  await again.close()
})

tape('seqs: there is room for thousands of losses, and then appends fail with ERR_LOG_FULL', async (t) => {
  const { disk, log, after } = await makeLoss()
  await log.close()
  const bytes = disk.read(FILE)
  t.ok(2 ** 48 / (after[0] - after[0] % JUMP_SIZE) > 65000)
  // As if records could have been shown up to the last position that there is.
  for (const at of [4096, 12288]) {
    bytes.writeUIntBE(2 ** 48 - 1, at + 42, 6)
    bytes.writeUInt32BE(crc(bytes.subarray(at + 4, at + 512), bytes.readUInt32BE(12)), at)
  }
  disk.put(FILE, bytes)
  const full = open(disk)
  t.equal((await failureOf(() => full.append(Buffer.from('x'))))?.code, 'ERR_LOG_FULL')
  t.equal(full.since.value, after[1])
  await full.close()
})

tape(`seqs: compacted, repaired, deleted from, and read every way (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  for (let round = 0; round < 12; round++) {
    let disk = new SimulatedDisk({ defer: setImmediate })
    const records = new Map()
    const given = new Set()
    for (let session = 0; session < 5; session++) {
      const log = open(disk)
      await log.ready()
      for (const seq of [...records.keys()]) {
        if (random(4) !== 0) continue
        await log.del(seq)
        records.delete(seq)
      }
      if (random(3) === 0) await log.compact()
      for (let count = random(5); count > 0; count--) {
        const value = Buffer.alloc([0, 30, 5000, 40000][random(4)], count)
        const seq = await log.append(value)
        if (given.has(seq)) t.fail(`${seq} was given twice`)
        given.add(seq)
        records.set(seq, value)
      }
      if (random(3) === 0) {
        await log.close()
        continue
      }
      if (random(2) === 0) await log.sync()
      disk = disk.crash((count) => random(count))
      const state = open(disk.clone(), { flags: 'r' })
      await state.ready()
      const left = new Map()
      for await (const { seq, value } of state.stream()) left.set(seq, value)
      await state.close()
      records.clear()
      for (const [seq, value] of left) records.set(seq, value)
    }
    const log = open(disk)
    await log.append(Buffer.from('end'))
    await log.compact()
    await log.close()
    const { frames } = decodeLog(disk.read(FILE))
    t.deepEqual(frames.map(({ seq }) => seq).slice(0, -1), [...records.keys()])
    const losses = findLosses(disk.read(FILE))
    await repair(FILE, OUT, { storage: disk.storage, write: true })
    t.ok((await verify(OUT, { storage: disk.storage })).isSound)
    for (const file of [FILE, OUT]) {
      const log = OffsetLog(file, { storage: disk.storage, flags: 'r' })
      for (const seq of given) {
        const isLost = losses.some(({ end, position }) => seq >= end && seq < position)
        t.equal(await codeOf(log, { gt: seq }), isLost ? 'ERR_LOG_SEQ_LOST' : undefined, `${round}: ${seq}`)
        const code = (await failureOf(() => log.get(seq)))?.code
        t.equal(code, isLost ? 'ERR_LOG_SEQ_LOST' : records.has(seq) ? undefined : 'flumelog:deleted')
        if (isLost && records.has(seq)) t.fail(`${seq} is there`)
      }
      await log.close()
    }
  }
})
