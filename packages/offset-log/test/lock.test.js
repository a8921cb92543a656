'use strict'
// A log has one writer. Where its ancestors let two handles overwrite each other's records, the second is refused.

const { once } = require('node:events')
const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { Worker } = require('node:worker_threads')
const { SimulatedDisk, collect, failureOf, newPath, temporaryFolder } = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FRAMINGS = ['checked', 'offset48']
const record = (text) => Buffer.from(text)

async function readAll (file) {
  const log = OffsetLog(file, { flags: 'r' })
  const found = (await collect(log.stream({ seqs: false }))).map(String)
  await log.close()
  return found
}

/** A second try to open a log for writing. */
async function failureOfOpening (file, options) {
  const log = OffsetLog(file, options)
  const err = await failureOf(log.ready)
  await log.close()
  return err
}

for (const framing of FRAMINGS) {
  tape(`lock, ${framing}: two handles on one log do not lose what was acknowledged, since there are no two`, async (t) => {
    const file = newPath('log')
    const first = OffsetLog(file, { framing })
    await first.append(record('one'))
    const second = OffsetLog(file, { framing })
    const errors = await Promise.all([
      failureOf(() => second.append(record('lost'))),
      failureOf(() => second.ready()),
      failureOf(() => second.get(0)),
      failureOf(async () => { for await (const each of second.stream()) t.fail(each) })
    ])
    for (const err of errors) {
      t.equal(err?.code, 'ERR_LOG_LOCKED')
      t.equal(err?.holder.pid, process.pid)
    }
    t.equal(second.since.value, undefined)
    await second.close()
    await first.append(record('two'))
    await first.close()
    const third = OffsetLog(file)
    await third.append(record('three'))
    await third.close()
    t.deepEqual(await readAll(file), ['one', 'two', 'three'])
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
  })

  tape(`lock, ${framing}: flags "r" read beside a writer, and leave the folder as it is`, async (t) => {
    const file = newPath('log')
    const log = OffsetLog(file, { framing })
    await log.append(record('one'))
    const before = fs.readdirSync(path.dirname(file))
    t.deepEqual(await readAll(file), ['one'])
    t.deepEqual(fs.readdirSync(path.dirname(file)), before)
    await log.close()
    t.deepEqual(await readAll(file), ['one'])
    fs.writeFileSync(`${file}.lock`, 'whatever')
    fs.appendFileSync(file, 'torn end')
    const bytes = fs.readFileSync(file)
    t.deepEqual(await readAll(file), ['one'], 'beside the lock of who knows whom')
    t.ok(fs.readFileSync(file).equals(bytes), 'nothing is repaired')
    t.deepEqual(fs.readdirSync(path.dirname(file)), ['log', 'log.lock'])
    fs.rmSync(`${file}.lock`)
  })
}

tape('lock: a log that is missing, or in a missing folder, is not made by who may not write it', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  await log.ready()
  fs.rmSync(file)
  t.equal((await failureOfOpening(file)).code, 'ERR_LOG_LOCKED')
  t.equal((await failureOfOpening(path.join(file, 'log'), { flags: 'r' })).code, 'ENOENT')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log.lock'])
  await log.close().catch(() => {})
})

tape('lock: a log that cannot be opened is not locked afterwards', async (t) => {
  const file = newPath('log')
  fs.writeFileSync(file, 'no log at all, and long enough to look like one')
  for (let count = 0; count < 2; count++) t.equal((await failureOfOpening(file)).code, 'ERR_LOG_UNKNOWN_FORMAT')
  t.deepEqual(fs.readdirSync(path.dirname(file)), ['log'])
})

tape('lock: a damaged log is locked while it is open, though it cannot be written', async (t) => {
  const file = newPath('log')
  const log = OffsetLog(file)
  await log.append(record('one'))
  await log.close()
  fs.writeFileSync(file, fs.readFileSync(file).fill(1, 32768 + 40))
  const damaged = OffsetLog(file)
  await damaged.ready()
  t.ok(damaged.recovery.damage.length > 0)
  t.equal((await failureOfOpening(file)).code, 'ERR_LOG_LOCKED')
  await damaged.close()
  t.equal(await failureOfOpening(file), null)
})

tape('lock: through a symlink', { skip: process.platform === 'win32' }, async (t) => {
  const folder = fs.realpathSync.native(temporaryFolder())
  fs.mkdirSync(path.join(folder, 'real'))
  fs.symlinkSync(path.join('real', 'log'), path.join(folder, 'link'))
  fs.symlinkSync('real', path.join(folder, 'linked'))
  const log = OffsetLog(path.join(folder, 'link'))
  await log.append(record('one'))
  for (const name of ['link', 'real/log', 'linked/log']) {
    t.equal((await failureOfOpening(path.join(folder, name))).code, 'ERR_LOG_LOCKED', name)
  }
  const gone = await log.append(Buffer.alloc(100_000, 1))
  await log.append(record('two'))
  await log.del(gone)
  await log.compact()
  const file = path.join(folder, 'real', 'log')
  const { inode } = JSON.parse(fs.readFileSync(`${file}.lock`, 'utf8')).file
  t.equal(inode, String(fs.statSync(file, { bigint: true }).ino), 'it is about the file that compacting has made')
  t.equal((await failureOfOpening(file)).code, 'ERR_LOG_LOCKED')
  await log.close()
  t.deepEqual(fs.readdirSync(path.join(folder, 'real')), ['log'])
  t.deepEqual(fs.readdirSync(folder), ['link', 'linked', 'real'], 'all that is made is made beside the log, not the link')
  t.ok(fs.lstatSync(path.join(folder, 'link')).isSymbolicLink(), 'a link to a log that was not there is still one')
  t.deepEqual(await readAll(file), ['one', 'two'])
})

tape('lock: a worker thread, and one that is terminated', { skip: process.platform !== 'linux' }, async (t) => {
  const file = newPath('log')
  const worker = new Worker(`
    const { parentPort, workerData } = require('node:worker_threads')
    const log = require(workerData.module).OffsetLog(workerData.file)
    log.append(Buffer.from('of the worker')).then(() => parentPort.postMessage('done'))
    parentPort.on('message', () => {})
  `, { eval: true, workerData: { module: require.resolve('..'), file } })
  await once(worker, 'message')
  const err = await failureOfOpening(file)
  t.equal(err.code, 'ERR_LOG_LOCKED')
  t.match(err.message, /by thread \d+ of this process/)
  await worker.terminate()
  const log = OffsetLog(file)
  await log.append(record('of the main thread'))
  await log.close()
  t.deepEqual(await readAll(file), ['of the worker', 'of the main thread'])
})

tape('lock: a storage of one\'s own is nobody else\'s', async (t) => {
  const disk = new SimulatedDisk()
  const log = OffsetLog('/log', { storage: disk.storage })
  await log.append(record('one'))
  t.deepEqual(disk.list(), ['/log'])
  await log.close()
})

tape('lock: false takes no lock, and leaves none behind', async (t) => {
  const folder = temporaryFolder()
  const file = path.join(folder, 'log')
  const log = OffsetLog(file, { lock: false })
  await log.append(Buffer.from('a'))
  t.equal((await log.stats()).lock.kind, 'none')
  t.deepEqual(fs.readdirSync(folder), ['log'])
  await log.close()
  const locked = OffsetLog(file)
  await locked.ready()
  const other = OffsetLog(file, { lock: false })
  await other.ready()
  await Promise.all([locked.close(), other.close()])
})
