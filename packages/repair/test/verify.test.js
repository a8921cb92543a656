'use strict'
// verify: what is in a log, and every range of it that is damaged, in every framing; nothing is changed.

const { spawn, spawnSync } = require('node:child_process')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { SimulatedDisk, collect, createRandom, failureOf, inQuickRuns, newPath, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('@millrace/offset-log')
const { repair, verify } = require('..')
const { PAYLOAD_SIZE_OFFSET } = require('@millrace/framing')
const { LogBuilder } = require('../../framing/test/checked-builder')
const { crc } = require('../../framing/test/checked-oracle')

const FILE = '/folder/log'
const HEAD_SIZE = 32768
const PAGE_SIZE = 16384
const SALT = 0x01020304
const seed = Date.now() % 2 ** 31

/** A log of records of these sizes, each appended on its own, in memory. */
async function makeLog (sizes, { isClosed = true, ...options } = {}) {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never', ...options })
  const seqs = []
  for (const [index, size] of sizes.entries()) seqs.push(await log.append(Buffer.alloc(size, index + 1)))
  if (isClosed) await log.close()
  const bytes = disk.read(FILE)
  if (!isClosed) await log.close()
  disk.put(FILE, bytes)
  return { disk, storage: disk.storage, seqs, bytes }
}

function hurt (disk, change) {
  const bytes = disk.read(FILE)
  disk.put(FILE, change(bytes) ?? bytes)
}

/** Where the chunks of a sound log begin. @param {Buffer} bytes */
function findChunks (bytes) {
  const starts = []
  for (let at = HEAD_SIZE; at < bytes.length;) {
    const room = PAGE_SIZE - at % PAGE_SIZE
    const size = room < 44 ? 0 : bytes.readUInt16BE(at + PAYLOAD_SIZE_OFFSET)
    if (size > 0) starts.push(at)
    at += size > 0 ? 40 + size : room
  }
  return starts
}

const rangesOf = ({ damage }) => damage.map(({ offset, size }) => [offset, size])

tape('verify: what is in a log that is sound, in every framing', async (t) => {
  for (const framing of ['checked', 'offset32', 'offset48', 'offset53']) {
    const { disk, storage, seqs, bytes } = await makeLog([100, 40000, 5], { framing })
    const log = OffsetLog(FILE, { storage })
    await log.del(seqs[0])
    await log.close()
    const report = await verify(FILE, { storage })
    t.deepEqual(report, {
      path: FILE,
      framing,
      codec: framing === 'checked' ? 'bytes' : null,
      size: bytes.length,
      end: bytes.length,
      isSound: true,
      records: 2,
      mendable: 0,
      erased: 1,
      undeleted: 0,
      unanchored: [],
      unanchoredCount: 0,
      since: seqs[2],
      promisedEnd: framing === 'checked' ? bytes.length : null,
      damage: [],
      damageCount: 0,
      damageSize: 0,
      tail: null,
      flaws: [],
      unrestored: null,
      unfinished: 0,
      changed: null
    }, framing)
    t.deepEqual(JSON.parse(JSON.stringify(report)), report)
    t.deepEqual(disk.list(), [FILE])
  }
})

tape('verify: the golden files are sound', async (t) => {
  const folder = path.join(__dirname, '..', '..', 'offset-log', 'test', 'fixtures', 'v1')
  for (const name of fs.readdirSync(folder).filter((name) => name.endsWith('.log'))) {
    const before = fs.readFileSync(path.join(folder, name))
    const report = await verify(path.join(folder, name))
    t.equal(report.isSound, true, name)
    t.equal(report.records, fs.readFileSync(path.join(folder, name.replace('.log', '.jsonl')), 'utf8').split('\n').length - 1)
    t.ok(fs.readFileSync(path.join(folder, name)).equals(before))
  }
})

tape('verify: an empty file, and none', async (t) => {
  const disk = new SimulatedDisk()
  disk.put(FILE, Buffer.alloc(0))
  const report = await verify(FILE, { storage: disk.storage })
  t.equal(report.isSound, true)
  t.equal(report.framing, null)
  t.equal(report.since, -1)
  t.equal((await failureOf(() => verify('/folder/none', { storage: disk.storage })))?.code, 'ENOENT')
})

tape('verify: a file of lines that was emptied is not taken for a new one', async (t) => {
  const file = newPath('events.jsonl')
  const log = OffsetLog(file, { framing: 'lines' })
  await log.ready()
  const of = async () => {
    const { framing, isSound, changed } = await verify(file)
    return { framing, isSound, changed: changed?.slice(0, 73) ?? null }
  }
  t.deepEqual(await of(), { framing: null, isSound: true, changed: null })
  await log.append(Buffer.from('{"n":1}'))
  await log.close()
  fs.truncateSync(file, 0)
  t.deepEqual(await of(), { framing: 'lines', isSound: false, changed: 'another program has changed the file: it has 0 bytes, and had 8 on stable' })
})

tape('verify: every damaged range, what was in it, and that it was promised', async (t) => {
  const { disk, storage, seqs, bytes } = await makeLog(Array(60).fill(700))
  hurt(disk, (bytes) => {
    bytes[seqs[3] + 100] ^= 1
    bytes[seqs[4] + 100] ^= 1
    bytes[seqs[10] - 30] ^= 1
    bytes.fill(0, HEAD_SIZE + PAGE_SIZE, HEAD_SIZE + 2 * PAGE_SIZE)
  })
  const report = await verify(FILE, { storage })
  const page = HEAD_SIZE + PAGE_SIZE
  t.deepEqual(rangesOf(report), [[seqs[3] - 40, 2 * 744], [seqs[10] - 40, 40], [page, PAGE_SIZE]], 'ranges that adjoin are one')
  t.deepEqual(report.damage.map(({ isPromised }) => isPromised), [true, true, true])
  t.deepEqual(report.damage[0].seqs, { from: seqs[3] - 40, to: seqs[5] - 40 })
  t.deepEqual([report.damage[1].seqs, report.damage[1].records], [null, 0], 'a header costs no record')
  const first = seqs.findIndex((seq) => seq > page)
  const isSplit = seqs[first - 1] + 704 > page
  t.equal(report.damage[2].seqs.from, isSplit ? seqs[first - 1] : page, 'a record that goes on in there is lost with it')
  t.equal(report.damage[2].records, null, 'how many there were is not known')
  t.equal(report.damageCount, 3)
  t.equal(report.damageSize, 2 * 744 + 40 + PAGE_SIZE)
  t.equal(report.isSound, false)
  t.equal(report.mendable, 1)
  t.equal(report.end, bytes.length)
})

tape('verify: the seqs of a lost range hold those of its records, also behind an unclean end', async (t) => {
  for (const isCompacted of [false, true]) {
    const { storage: before, disk: first } = await makeLog([700, 20, 300, 9000, 40], { isClosed: false })
    const log = OffsetLog(FILE, { storage: before, fsync: 'never' })
    const seqs = []
    for (const size of [500, 30, 9000, 100]) seqs.push(await log.append(Buffer.alloc(size, 7)))
    if (isCompacted) {
      await log.del(await log.first().then(({ seq }) => seq))
      await log.compact()
    }
    const all = await collect(log.stream({ values: false }))
    await log.close()
    t.ok(seqs[0] > 2 ** 32, 'the end was unclean')
    const bytes = first.read(FILE)
    const chunks = findChunks(bytes)
    for (const [index, start] of chunks.entries()) {
      const end = chunks[index + 1] ?? bytes.length
      const harms = {
        data: [start + 50, start + 51], header: [start, start + 40], all: [start, end], rest: [start, bytes.length]
      }
      for (const [name, [from, to]] of Object.entries(harms)) {
        const disk = first.clone()
        disk.put(FILE, Buffer.from(bytes).fill(0xaa, from, to))
        const { damage } = await repair(FILE, '/folder/repaired', { storage: disk.storage, write: true })
        const kept = new Set()
        const repaired = OffsetLog('/folder/repaired', { storage: disk.storage })
        for await (const seq of repaired.stream({ values: false })) kept.add(seq)
        await repaired.close()
        const missing = all.filter((seq) => !kept.has(seq))
        const isTold = (seq) => damage.some(({ seqs, records }) => {
          return records === 0 || (seqs?.from <= seq && seq < seqs.to)
        })
        t.deepEqual(missing.filter((seq) => !isTold(seq)), [], `compacted: ${isCompacted}, chunk ${index}, ${name}`)
      }
    }
  }
})

tape('verify: only so many ranges are listed, and all are counted and told', async (t) => {
  const { disk, storage, seqs } = await makeLog(Array(100).fill(50))
  hurt(disk, (bytes) => { for (let index = 0; index < 100; index += 2) bytes[seqs[index] + 10] ^= 1 })
  const told = []
  const report = await verify(FILE, { storage, rangesMax: 7, onDamage: (range) => told.push(range) })
  t.equal(report.damage.length, 7)
  t.equal(report.damageCount, 50)
  t.equal(report.damageSize, 50 * 94)
  t.equal(told.length, 50)
  t.deepEqual(told.slice(0, 7), report.damage)
  t.equal((await verify(FILE, { storage, rangesMax: 0 })).damageCount, 50)
})

tape('verify: says how far it is, and ends with what a listener throws', async (t) => {
  const { disk, storage, seqs, bytes } = await makeLog(Array(200).fill(5000))
  hurt(disk, (bytes) => { bytes[seqs[3] + 10] ^= 1 })
  const positions = []
  await verify(FILE, { storage, onProgress: ({ position, size }) => positions.push([position, size]) })
  t.ok(positions.length > 2 && positions.every(([position, size], index) => {
    return size === bytes.length && position <= size && (index === 0 || position >= positions[index - 1][0])
  }))
  for (const name of ['onProgress', 'onDamage']) {
    const err = await failureOf(() => verify(FILE, { storage, [name]: () => { throw new Error(name) } }))
    t.equal(err?.message, name)
  }
})

tape('verify, repair: a signal ends them, and nothing is left', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const folder = temporaryFolder()
    const file = path.join(folder, 'log')
    const log = OffsetLog(file, { framing, fsync: 'never' })
    for (let i = 0; i < 20; i++) await log.append(Buffer.alloc(500_000, i + 1))
    await log.close()
    for (const run of [(options) => verify(file, options), (options) => repair(file, `${file}.new`, { ...options, write: true })]) {
      const aborting = new AbortController()
      let count = 0
      const onProgress = () => { if (++count === 3) aborting.abort() }
      const err = await failureOf(() => run({ signal: aborting.signal, onProgress }))
      t.equal(err?.code, 'ABORT_ERR')
      t.equal(count, 3, 'at once')
      t.equal((await failureOf(() => run({ signal: AbortSignal.abort() })))?.code, 'ABORT_ERR')
      t.equal((await failureOf(() => run({ signal: 1 })))?.code, 'ERR_INVALID_ARGUMENT')
      t.deepEqual(fs.readdirSync(folder), ['log'])
    }
  }
})

tape('verify: a torn end is no damage, and room that is reserved is neither', async (t) => {
  for (const framing of ['checked', 'offset48']) {
    const { disk, storage, seqs, bytes } = await makeLog([100, 200, 300], { framing })
    hurt(disk, (bytes) => Buffer.concat([bytes, bytes.subarray(seqs[2] - 40, seqs[2] + 100)]))
    const torn = await verify(FILE, { storage })
    t.deepEqual(torn.tail, { offset: bytes.length, size: 140, isZeros: false })
    t.equal(torn.isSound, true)
    t.equal(torn.records, 3)
    disk.put(FILE, Buffer.concat([bytes, Buffer.alloc(70000)]))
    t.deepEqual((await verify(FILE, { storage })).tail, { offset: bytes.length, size: 70000, isZeros: true })
    disk.put(FILE, bytes)
    t.equal((await verify(FILE, { storage })).tail, null)
  }
})

tape('verify: what was not promised, and what comes behind it, is a torn end', async (t) => {
  const disk = new SimulatedDisk({ defer: queueMicrotask })
  const log = OffsetLog(FILE, { storage: disk.storage, fsync: 'never' })
  const seqs = [await log.append(Buffer.alloc(100))]
  await log.sync()
  for (const size of [200, 300, 400]) seqs.push(await log.append(Buffer.alloc(size, 1)))
  const bytes = disk.read(FILE)
  await log.close()
  for (const [index, seq] of seqs.entries()) {
    const copy = Buffer.from(bytes)
    copy[seq + 50] ^= 1
    disk.put(FILE, copy)
    const report = await verify(FILE, { storage: disk.storage })
    t.equal(report.promisedEnd, seqs[1] - 40)
    t.equal(report.isSound, index > 0)
    t.equal(report.records, index === 0 ? 3 : index)
    t.equal(report.tail?.offset, index === 0 ? undefined : seq - 40)
  }
})

tape('verify: a file that is too short lacks what was promised', async (t) => {
  const { disk, storage, seqs, bytes } = await makeLog([100, 50000, 300])
  for (const size of [bytes.length - 1, seqs[2], seqs[1] + 20000, HEAD_SIZE, HEAD_SIZE - 1, 9000]) {
    disk.put(FILE, bytes.subarray(0, size))
    const report = await verify(FILE, { storage })
    t.equal(report.isSound, false, `${size} bytes`)
    const last = report.damage.at(-1)
    const promisedEnd = size < 4096 + 512 ? HEAD_SIZE : bytes.length
    t.equal(last.offset + last.size, promisedEnd)
    t.ok(last.offset <= size)
  }
})

tape('verify: a batch that was promised and ends too early', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  await log.append([Buffer.alloc(20000, 1), Buffer.alloc(20000, 2)])
  await log.close()
  const bytes = disk.read(FILE).subarray(0, HEAD_SIZE + 2 * PAGE_SIZE)
  for (const position of [4096, 12288]) bytes.fill(0, position, position + 512)
  disk.put(FILE, bytes)
  const report = await verify(FILE, { storage: disk.storage })
  t.equal(report.isSound, false)
  t.equal(report.records, 1)
  t.match(report.damage[0].what, /batch/)
})

tape('verify: flaws of the head cost nothing, but for both slots', async (t) => {
  const { disk, storage, bytes } = await makeLog([100, 200])
  for (const [offset, size] of [[0, 4096], [4096, 4096], [8192, 4096], [12288, 4096], [16384, 8192], [24576, 8192]]) {
    for (const at of [offset + 3, offset + size - 10]) {
      const copy = Buffer.from(bytes)
      copy[at] ^= 1
      disk.put(FILE, copy)
      const report = await verify(FILE, { storage })
      t.deepEqual(report.flaws.map(({ offset, size }) => [offset, size]), [[offset, size]])
      t.equal(report.isSound, true)
    }
  }
  const blind = Buffer.from(bytes).fill(0, 4096, 4608).fill(0, 12288, 12800)
  disk.put(FILE, blind)
  const report = await verify(FILE, { storage })
  t.equal(report.isSound, false)
  t.equal(report.promisedEnd, null)
  blind[bytes.length - 10] ^= 1
  disk.put(FILE, blind)
  t.equal((await verify(FILE, { storage })).damage[0].isPromised, null, 'without a slot that cannot be known')
})

tape('verify: what only whoever reads all can see: that deletions were undone', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { storage: disk.storage })
  const seqs = []
  for (const size of [100, 30000, 100]) seqs.push(await log.append(Buffer.alloc(size, 7)))
  await log.sync()
  const before = disk.read(FILE)
  await log.del([seqs[0], seqs[1]])
  await log.close()
  const after = disk.read(FILE)
  t.equal((await verify(FILE, { storage: disk.storage })).erased, 3, 'a record in two pages, and one')
  disk.put(FILE, Buffer.concat([after.subarray(0, HEAD_SIZE), before.subarray(HEAD_SIZE)]))
  const { undeleted, isSound, damageCount } = await verify(FILE, { storage: disk.storage })
  t.deepEqual({ undeleted, isSound, damageCount }, { undeleted: 3, isSound: false, damageCount: 0 })
})

tape('verify: misuse comes through the callback, and so does the report', (t) => {
  const calls = [[''], [7], [FILE, null], [FILE, { onDamage: 1 }], [FILE, { framing: 'other' }], [FILE, { write: true }]]
  t.plan(calls.length + 2)
  for (const args of calls) verify(...args, (err) => t.equal(err?.code, 'ERR_INVALID_ARGUMENT'))
  makeLog([1]).then(({ storage }) => verify(FILE, { storage }, (err, report) => {
    t.error(err)
    t.equal(report.records, 1)
  }))
})

tape('verify: a file that is no log is refused, unless its framing is given', async (t) => {
  const disk = new SimulatedDisk()
  const random = createRandom(seed)
  const { storage } = disk
  const noise = Buffer.from(Array.from({ length: 100000 }, () => random(256)))
  for (const bytes of [Buffer.alloc(100000), Buffer.from('hello'), noise]) {
    disk.put(FILE, bytes)
    t.equal((await failureOf(() => verify(FILE, { storage })))?.code, 'ERR_LOG_UNKNOWN_FORMAT')
    t.equal((await verify(FILE, { storage, framing: 'offset32' })).records, 0)
    const err = await failureOf(() => verify(FILE, { storage, framing: 'checked' }))
    t.equal(err?.code, 'ERR_LOG_CORRUPT')
  }
  const { bytes } = await makeLog([10])
  for (const copy of [0, 8192]) {
    bytes.writeUInt16BE(2, copy + 8)
    bytes.writeUInt32BE(crc(bytes.subarray(copy, copy + 60)), copy + 60)
  }
  disk.put(FILE, bytes)
  t.equal((await failureOf(() => verify(FILE, { storage })))?.code, 'ERR_LOG_UNKNOWN_FORMAT', 'of a version to come')
})

/** Chunks made by hand, up to the end of the file, all of which is promised. */
function fillWith (size, make, { hasGaps = false } = {}) {
  const builder = new LogBuilder({ salt: SALT, hasGaps })
  const bytes = Buffer.alloc(size)
  builder.build().copy(bytes)
  for (const position of [4096, 12288]) {
    bytes.writeUIntBE(size, position + 14, 6)
    bytes.writeUIntBE(size, position + 20, 6)
    bytes.writeUInt32BE(crc(bytes.subarray(position + 4, position + 512), SALT), position)
  }
  let previous = SALT
  for (let at = HEAD_SIZE; at < size;) {
    const room = Math.min(PAGE_SIZE - at % PAGE_SIZE, size - at)
    if (room >= 60) {
      const chunk = make({ at, previous, room })
      chunk.copy(bytes, at)
      previous = chunk.readUInt32BE(0)
      at += chunk.length
    } else {
      at += room
    }
  }
  return bytes
}

function makeChunk ({
  at, previous, epoch = 1, position = at, payload = Buffer.alloc(4), headerError = 0, payloadError = 0
}) {
  const header = Buffer.alloc(40)
  header.writeUInt32BE((crc(payload) ^ payloadError) >>> 0, 4)
  header.writeUInt16BE(payload.length, 8)
  header.writeUInt32BE(epoch, 12)
  header.writeUIntBE(position, 16, 6)
  header.writeUIntBE(HEAD_SIZE, 22, 6)
  header.writeUInt32BE(previous, 32)
  header.writeUInt32BE((crc(header.subarray(4), SALT) ^ headerError) >>> 0, 0)
  return Buffer.concat([header, payload])
}

/** Files that somebody made to be hard to read. */
function makeHostileFiles (size) {
  const random = createRandom(seed)
  const noise = () => {
    const bytes = Buffer.alloc(size)
    for (let at = 0; at < size; at += 4) bytes.writeUInt32LE(random(2 ** 32), at)
    return bytes
  }
  const frame = (at, first) => {
    const bytes = Buffer.from('0000000161000000010000000d', 'hex')
    bytes.writeUInt32BE(first, 0)
    bytes.writeUInt32BE(at + 13, 9)
    return bytes
  }
  const legacy = (make) => {
    const bytes = Buffer.alloc(size)
    frame(0, 1).copy(bytes)
    for (let at = 13; at + 13 <= size;) at = make(bytes, at)
    return bytes
  }
  let epoch = 1
  return {
    noise: noise(),
    'noise behind a head': Buffer.concat([fillWith(HEAD_SIZE, null), noise()]).subarray(0, size),
    'chunks that follow nothing': fillWith(size, ({ at }) => makeChunk({ at, previous: 7 })),
    'chunks of rising epochs': fillWith(size, ({ at }) => makeChunk({ at, previous: 7, epoch: ++epoch })),
    'chunks whose payload is wrong': fillWith(size, (place) => makeChunk({ ...place, payloadError: 1 })),
    'chunks whose header is wrong': fillWith(size, (place) => makeChunk({ ...place, headerError: 0x10101 })),
    'chunks with gaps that are wrong': fillWith(size, ({ at }) => makeChunk({ at, previous: 7, position: at + 9, headerError: 0x10101 }), { hasGaps: true }),
    'records that go on for ever': fillWith(size, (place) => makeChunk({ ...place, payload: Buffer.from('3fffffff', 'hex') })),
    'positions everywhere': legacy((bytes, at) => bytes.writeUInt32BE(at + 4, at)),
    'every other frame is wrong': legacy((bytes, at) => {
      frame(at, at % 2 ? 1 : 7).copy(bytes, at)
      return at + 13
    }),
    'sizes that are far too large': legacy((bytes, at) => {
      frame(at, 0x7fffffff).copy(bytes, at)
      return at + 13
    })
  }
}

tape(`verify: hostile bytes end with a report or with a code, in linear time (seed ${seed})`, async (t) => {
  const sizes = [inQuickRuns(2 ** 18), inQuickRuns(2 ** 20)]
  const rounds = sizes.map((size) => Object.entries(makeHostileFiles(size)))
  for (const [index, [name]] of rounds[0].entries()) {
    const times = []
    for (const round of rounds) {
      const disk = new SimulatedDisk()
      disk.put(FILE, round[index][1])
      const started = process.cpuUsage()
      for (const call of [() => verify(FILE, { storage: disk.storage }), () => repair(FILE, '/folder/out', { storage: disk.storage, write: true })]) {
        const err = await failureOf(call)
        if (err) t.match(String(err.code), /^ERR_LOG_/, `${name}: ${err.message}`)
      }
      times.push(process.cpuUsage(started).user / 1000)
      t.ok(disk.read(FILE).equals(round[index][1]))
    }
    t.ok(times[1] < 200 + 16 * times[0], `${name}: ${times.map(Math.round)} ms`)
  }
})

tape('verify: beside a writer in another process nothing looks damaged', async (t) => {
  const folder = temporaryFolder()
  await Promise.all([['checked', 'interval'], ['checked', 'always'], ['offset48', 'never']].map(async ([framing, fsync]) => {
    const file = path.join(folder, `${framing}-${fsync}`)
    const child = spawn(process.execPath, [path.join(__dirname, 'salvage', 'live-writer.js'), file, framing, fsync, '1500'])
    const writer = { isOver: false }
    child.on('exit', () => { writer.isOver = true })
    while (!fs.existsSync(file) || fs.statSync(file).size === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    let count = 0
    while (!writer.isOver) {
      const report = await verify(file)
      count++
      if (!report.isSound) t.fail(JSON.stringify(report))
    }
    const report = await verify(file)
    t.ok(report.isSound && report.records > 0 && report.tail === null, `${framing}, ${fsync}: ${count} times`)
  }))
})

tape('verify: a large file of holes, in little memory', (t) => {
  const folder = temporaryFolder()
  const size = inQuickRuns(2 ** 30)
  const script = `
    const { verify } = require(${JSON.stringify(path.join(__dirname, '..'))})
    verify(process.argv[1]).then((report) => {
      console.log(JSON.stringify({ ...report, rss: process.resourceUsage().maxRSS }))
    })`
  const make = async (framing) => {
    const file = path.join(folder, framing)
    const log = OffsetLog(file, { framing })
    for (let count = 0; count < 100; count++) await log.append(Buffer.alloc(500, 1))
    await log.close()
    fs.truncateSync(file, size)
    return file
  }
  Promise.all(['checked', 'offset48', 'offset53'].map(make)).then((files) => {
    for (const file of files) {
      const child = spawnSync(process.execPath, ['--max-old-space-size=32', '-e', script, file], { encoding: 'utf8', timeout: 60000 })
      if (child.signal) {
        t.comment('too slow here')
        continue
      }
      const { records, tail, rss } = JSON.parse(child.stdout)
      t.equal(records, 100, child.stderr)
      t.equal(tail.offset + tail.size, size)
      t.ok(rss < 150 * 1024, `${Math.round(rss / 1024)} MiB`)
    }
    t.end()
  })
})
