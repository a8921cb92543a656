'use strict'
// A log of lines whose storage fails, or whose file another program has hurt in a way that public reports show.

const { crc32 } = require('node:zlib')
const tape = require('tape')
const { SimulatedDisk, collect, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/events.jsonl'
const SUMS = `${FILE}.sums`
const PAGE = 16384
const TABLE_START = 20480
const MODES = ['always', 'interval', 'never']
/** More than the base of the checksums stays behind. */
const LARGE = Buffer.alloc(700_000, 'x')

tape('lines: if the syncs of the log and of its sums both fail, the log is poisoned, and nothing is thrown elsewhere', async (t) => {
  let fails = false
  const disk = new SimulatedDisk({ decide: ({ name }) => fails && name === 'sync' ? { code: 'EIO' } : {} })
  const log = OffsetLog(FILE, { storage: disk.storage, framing: 'lines', fsync: 'never' })
  await log.append([Buffer.from('{"n":1}'), Buffer.from('{"n":2}')])
  const thrown = []
  const note = (err) => thrown.push(err)
  process.on('unhandledRejection', note)
  fails = true
  t.equal((await failureOf(() => log.sync())).code, 'ERR_LOG_POISONED')
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  process.off('unhandledRejection', note)
  t.deepEqual(thrown, [])
  fails = false
  await log.close().catch(() => {})
})

/** @type {(disk: SimulatedDisk) => number[]} the whole pages whose checksum the table lacks, or has wrong */
function pagesWithoutSum (disk) {
  const text = disk.read(FILE)
  const sums = disk.read(SUMS)
  return Array.from({ length: Math.floor(text.length / PAGE) }, (_, page) => page).filter((page) => {
    const at = TABLE_START + 4 * page
    const wanted = crc32(text.subarray(page * PAGE, (page + 1) * PAGE))
    return at + 4 > sums.length || sums.readUInt32BE(at) !== wanted
  })
}

const namesOf = async (log) => (await collect(log.stream())).map(({ value }) => value.toString('latin1', 0, 1))

/** What an append and a sync are in the modes of appending. */
const calls = {
  'append and sync': {
    append: (log, value) => log.append(value),
    sync: (log) => log.sync()
  },
  'appendSync and flushSync': {
    append: async (log, value) => log.appendSync(value),
    sync: async (log) => log.flushSync()
  }
}

for (const fsync of MODES) {
  for (const [name, { append, sync }] of Object.entries(calls)) {
    for (const code of ['ENOSPC', 'EDQUOT', 'EIO']) {
      tape(`lines: a sync that cannot write the sums (${code}) poisons no log, fsync ${fsync}, ${name}`, async (t) => {
        let isFull = false
        const decide = (call) => isFull && call.name === 'write' && call.path === SUMS ? { code } : {}
        const disk = new SimulatedDisk({ decide })
        const log = OffsetLog(FILE, { storage: disk.storage, framing: 'lines', fsync })
        await log.ready()
        // From a batch on, all is described.
        await append(log, [Buffer.from('a'), Buffer.from('b')])
        await append(log, LARGE)
        await sync(log)
        isFull = true
        for (let round = 0; round < 3; round++) {
          // With 'always', single lines need no description; in other modes their description finds no room.
          const err = await failureOf(() => append(log, LARGE))
          if (fsync === 'always') t.equal(err, null)
          else t.equal(err?.code, code)
          await sync(log)
        }
        isFull = false
        await append(log, LARGE)
        await append(log, [Buffer.from('y'), Buffer.from('z')])
        await sync(log)
        const expected = ['a', 'b', ...Array(fsync === 'always' ? 5 : 2).fill('x'), 'y', 'z']
        t.deepEqual(await namesOf(log), expected)
        const lost = OffsetLog(FILE, { storage: disk.crash(() => 0).storage, framing: 'lines' })
        t.deepEqual(await namesOf(lost), expected, 'after a power cut')
        await lost.close()
        await log.close()
        t.deepEqual(pagesWithoutSum(disk), [], 'each page has its checksum')
      })
    }
  }

  tape(`lines: a full disk while the table of the sums must grow, fsync ${fsync}: a sync, close and open go on`, async (t) => {
    let isFull = false
    const decide = ({ name, path, position }) => {
      return isFull && name === 'write' && path === SUMS && position >= TABLE_START ? { code: 'ENOSPC' } : {}
    }
    const disk = new SimulatedDisk({ decide })
    const options = { framing: 'lines', fsync, storage: disk.storage }
    const log = OffsetLog(FILE, options)
    isFull = true
    await log.append([Buffer.from('a'), Buffer.from('b')])
    for (let round = 0; round < 4; round++) {
      await log.append(LARGE)
      await log.sync()
    }
    t.equal(log.durable.value, log.since.value, 'a sync needs no checksums: the text is on the disk, and described')
    const expected = ['a', 'b', 'x', 'x', 'x', 'x']
    const image = disk.crash(() => 0)
    const lost = OffsetLog(FILE, { ...options, storage: image.storage })
    t.deepEqual(await namesOf(lost), expected, 'after a power cut')
    await lost.close()
    t.deepEqual(pagesWithoutSum(image), [], 'opening has computed them')
    await log.close()
    const again = OffsetLog(FILE, options)
    t.deepEqual(await namesOf(again), expected)
    t.equal(again.recovery, null)
    isFull = false
    await again.append(Buffer.from('z'))
    await again.close()
    t.deepEqual(pagesWithoutSum(disk), [])
  })
}
