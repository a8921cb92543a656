'use strict'
// The verified pages that single records are taken from, whether they are cached or read for one record only.

const tape = require('tape')
const { SimulatedDisk, createRandom, failureOf } = require('@millrace/testkit')
const { OffsetLog } = require('..')
const { HEAD_SIZE, PAGE_SIZE } = require('@millrace/framing')

const FILE = '/folder/log'
const seed = Date.now() % 2 ** 31

async function openLog (options) {
  const disk = new SimulatedDisk()
  const log = OffsetLog(FILE, { framing: 'checked', fsync: 'never', storage: disk.storage, ...options })
  await log.ready()
  // However busy the machine is.
  log._file.blocks._file.adaptiveIo.mayBlock = () => true
  return { disk, log, pages: log._file.store.pages }
}

for (const slotCount of [0, 1, 3, 100]) {
  tape(`look: a page has the bytes of the file, with ${slotCount} in the cache (seed ${seed})`, async (t) => {
    const random = createRandom(seed + slotCount)
    const { disk, log, pages } = await openLog({ cache: slotCount * PAGE_SIZE })
    const { store } = log._file
    const seqs = []
    let wrong = 0
    for (let turn = 0; turn < 600; turn++) {
      const what = random(10)
      if (what === 0 && seqs.length > 0) await log.del(seqs.splice(random(seqs.length), 1))
      else if (what < 4) seqs.push(await log.append(Buffer.alloc(1 + random(2000), turn)))
      for (let left = random(4); left > 0 && store.end > HEAD_SIZE; left--) {
        const pageCount = Math.ceil((store.end - HEAD_SIZE) / PAGE_SIZE)
        // The last one, which grows, more often than others.
        const index = Math.min(pageCount - 1, random(pageCount + 2))
        const start = HEAD_SIZE + index * PAGE_SIZE
        const end = Math.min(store.end, start + PAGE_SIZE)
        const isThere = pages.look(start)
        const { bytes, view, offset } = pages.page
        const wanted = disk.read(FILE).subarray(start, end)
        const isSame = wanted.equals(bytes.subarray(offset, offset + end - start)) &&
          view.getUint32(offset) === wanted.readUInt32BE(0)
        if (!isThere || pages.page.end !== end || !isSame) wrong++
      }
    }
    t.equal(wrong, 0)
    t.ok(store.end > HEAD_SIZE + 3 * PAGE_SIZE, 'there were more than fit')
    await log.close()
  })
}

tape('look: while the cache is full a page gets into it when it is wanted again and again', async (t) => {
  const { log, pages } = await openLog({ cache: 2 * PAGE_SIZE })
  const seqs = []
  for (let index = 0; index < 6; index++) seqs.push(await log.append(Buffer.alloc(PAGE_SIZE - 44, 1 + index)))
  const missesOf = async (list) => {
    const { missCount } = pages.stats()
    for (const index of list) t.equal((await log.get(seqs[index]))[0], 1 + index)
    return pages.stats().missCount - missCount
  }
  t.equal(await missesOf([0, 1, 0, 1]), 2, 'it has room')
  t.equal(await missesOf([2, 3, 4, 5, 0, 1]), 4, 'what is there stays there')
  t.equal(await missesOf([5, 0, 5]), 0, 'what was read last is at hand')
  t.ok(await missesOf(Array.from({ length: 20 }, (_, turn) => 4 + turn % 2)) > 2, 'what is wanted again is read again')
  t.equal(await missesOf([4, 5, 4, 5]), 0, 'what is wanted often is cached')
  await log.close()
})

tape('look: a page that is damaged is not kept, cached or not', async (t) => {
  const { disk, log } = await openLog({ cache: PAGE_SIZE })
  const seqs = []
  for (let index = 0; index < 3; index++) seqs.push(await log.append(Buffer.alloc(PAGE_SIZE - 44, 1 + index)))
  await log.get(seqs[0])
  await log.sync()
  disk.damage(FILE, (bytes) => { bytes[seqs[1] + 50] ^= 1 })
  for (let turn = 0; turn < 3; turn++) {
    t.equal((await failureOf(() => log.get(seqs[1]))).code, 'ERR_LOG_CORRUPT')
    t.equal((await log.get(seqs[2]))[0], 3)
  }
  await log.close()
})

tape('lookWaiting: a page stays what it is when its place in the cache goes to another one', async (t) => {
  const { disk, log, pages } = await openLog({ cache: PAGE_SIZE })
  for (let count = 0; count < 3; count++) await log.append(Buffer.alloc(PAGE_SIZE, count))
  const { adaptiveIo } = log._file.blocks._file
  const [first, second] = [HEAD_SIZE, HEAD_SIZE + PAGE_SIZE]
  let runCount = 0
  const found = await new Promise((resolve, reject) => {
    pages.lookWaiting(() => {
      // In the first run the page has to be waited for, and then is there at once: so it is in the cache, and missing.
      adaptiveIo.mayBlock = () => false
      if (runCount++ === 0) {
        pages.look(first)
        adaptiveIo.mayBlock = () => true
        return pages.look(first)
      }
      if (!pages.look(first) || !pages.look(second) || !pages.look(first)) return null
      const { bytes, offset } = pages.page
      return Buffer.from(bytes.subarray(offset, offset + PAGE_SIZE))
    }, (err, result) => err ? reject(err) : resolve(result))
  })
  t.ok(found.equals(disk.read(FILE).subarray(first, second)))
  await log.close()
})

tape(`find: what is listed of a page is what a walk over it finds, also after deletions (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const { log } = await openLog({ cache: 20 * PAGE_SIZE })
  /** @type {Map<number, Buffer | null>} null: deleted */
  const records = new Map()
  let [last, listed, wrong] = [-1, 0, 0]
  /** Of the file that the log has now. */
  let counted = null
  const countListed = () => {
    const { starts } = log._file.store.pages
    if (starts === counted) return
    counted = starts
    const has = starts.has.bind(starts)
    starts.has = (slot, at) => {
      const isListed = has(slot, at)
      listed += Number(isListed)
      return isListed
    }
  }
  const append = async (count, sizeMax) => {
    const values = Array.from({ length: count }, (_, index) => Buffer.alloc(1 + random(sizeMax), count + index))
    await log.append(values)
    let index = 0
    for await (const seq of log.stream({ gt: last, values: false })) {
      records.set(seq, values[index++])
      last = seq
    }
  }
  const check = (seq) => {
    const { peek } = log._file.store
    const isFound = peek.find(seq)
    const wanted = records.get(seq)
    if (isFound !== Boolean(wanted) || (isFound && !peek.take().equals(wanted))) wrong++
  }
  for (let turn = 0; turn < 400; turn++) {
    if (turn % 4 === 0) await append(1 + random([2, 200][random(2)]), [1, 60, 700, 3 * PAGE_SIZE][random(4)])
    const seqs = [...records.keys()]
    const doomed = seqs[random(seqs.length)]
    if (turn % 3 === 0) {
      await log.del(doomed)
      records.set(doomed, null)
    }
    for (let index = 0; index < 30; index++) {
      const seq = seqs[random(seqs.length)]
      check(seq)
      // Most numbers are in the middle of a record.
      check(seq + 1 + random(20))
    }
    check(doomed)
    countListed()
    if (turn === 300) await log.compact()
  }
  t.equal(wrong, 0)
  t.ok(listed > 100, `${listed} were found in the lists`)
  await log.close()
})
