'use strict'
// What is on stable storage when, in each fsync mode, and what is left of a log when a sync fails.

const { spawnSync } = require('node:child_process')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const tape = require('tape')
const { fileStorage } = require('@millrace/block-file')
const {
  SimulatedDisk, createRandom, failureOf, faultyStorage, inQuickRuns, slowStorage, temporaryFolder, until
} = require('@millrace/testkit')
const { OffsetLog } = require('..')

const FILE = '/folder/log'
const MODES = ['always', 'interval', 'never']
const FRAMINGS = ['checked', 'offset32']
const seed = Date.now() % 2 ** 31

const bytes = (text) => Buffer.from(text)

/** A disk whose calls are counted, can be made to wait, and to fail. */
class Harness {
  constructor () {
    this.calls = []
    this.fault = () => ({})
    this.disk = new SimulatedDisk({ decide: (call) => this.fault(call) })
    this.counts = {}
    this._gate = null
    this.storage = faultyStorage(this.disk.storage, ({ name, position }) => {
      this.counts[name] = (this.counts[name] ?? 0) + 1
      if (name === 'write' && position < 32768) this.counts.headWrite = (this.counts.headWrite ?? 0) + 1
      return name === 'sync' && this._gate ? { after: this._gate.promise } : {}
    })
  }

  open (options) {
    return OffsetLog(FILE, { storage: this.storage, ...options })
  }

  /** From now on syncs wait. */
  hold () {
    let release
    const promise = new Promise((resolve) => { release = resolve })
    this._gate = { promise, release }
  }

  release () {
    this._gate.release()
    this._gate = null
  }

  /** The next sync fails as on Linux: what was dirty counts as clean, and is not on the medium. */
  loseNextSync () {
    let isLost = false
    this.fault = ({ name }) => {
      if (name !== 'sync' || isLost) return {}
      isLost = true
      return { losesPages: true }
    }
  }

  /** What is found after the power was gone, and nothing had reached the disk but what was synced. */
  async afterPowerCut (options) {
    return textsAfterPowerCut(this.disk, options)
  }
}

/** What is left if nothing survives that was not synced. */
async function textsAfterPowerCut (disk, options) {
  const log = OffsetLog(FILE, { storage: disk.crash(() => 0).storage, ...options })
  const texts = await textsOf(log)
  await log.close()
  return texts
}

async function textsOf (log, options) {
  const texts = []
  for await (const value of log.stream({ ...options, seqs: false })) texts.push(value.toString())
  return texts
}

/** Whether a promise is still pending after all that can happen has happened. */
async function isPending (promise) {
  let isSettled = false
  const settle = () => { isSettled = true }
  promise.then(settle, settle)
  await sleep(20)
  return !isSettled
}

/** Every event of the two, checked; gives the values that `durable` had. */
function watch (t, log) {
  const values = []
  const check = () => {
    const { since: { value: since }, durable: { value: durable } } = log
    if (durable !== undefined && !(durable <= since)) t.fail(`durable is ${durable}, since only ${since}`)
  }
  log.since(check)
  log.durable((value) => {
    check()
    if (values.length > 0 && value < values.at(-1)) t.fail(`durable fell to ${value}`)
    values.push(value)
  })
  return values
}

for (const framing of FRAMINGS) {
  // Not a checkpoint.
  const isAppend = ({ name, position }) => name === 'write' && position >= (framing === 'checked' ? 32768 : 0)

  tape(`${framing}, always: nothing is seen before it is synced, and all of it afterwards`, async (t) => {
    const harness = new Harness()
    const log = harness.open({ framing, fsync: 'always' })
    const first = await log.append(bytes('first'))
    t.deepEqual([log.since.value, log.durable.value], [first, first])
    t.deepEqual(await harness.afterPowerCut(), ['first'])
    const live = []
    const reading = (async () => {
      for await (const { seq } of log.stream({ live: true, gt: first })) live.push(seq)
    })()
    harness.hold()
    const appended = log.append([bytes('second'), bytes('third')])
    t.ok(await isPending(appended), 'the append waits')
    t.deepEqual([log.since.value, log.durable.value], [first, first])
    t.deepEqual(await textsOf(log), ['first'])
    t.deepEqual(await textsOf(log, { reverse: true }), ['first'])
    t.deepEqual(live, [])
    harness.release()
    const last = await appended
    t.deepEqual([log.since.value, log.durable.value], [last, last])
    t.deepEqual(await textsOf(log), ['first', 'second', 'third'])
    await sleep(5)
    t.equal(live.at(-1), last)
    t.deepEqual(await harness.afterPowerCut(), ['first', 'second', 'third'])
    await log.close()
    await reading
  })

  tape(`${framing}, always: get does not give what is not synced, though it is in the file`, async (t) => {
    const harness = new Harness()
    const log = harness.open({ framing, fsync: 'always' })
    const first = await log.append(bytes('first'))
    await log.get(first)
    const next = first + (framing === 'checked' ? 5 + 4 + 40 : 5 + 12)
    harness.hold()
    const appended = log.append(bytes('second'))
    t.ok(await isPending(appended))
    t.equal((await failureOf(() => log.get(next))).code, 'ERR_RECORD_NOT_FOUND')
    t.equal((await failureOf(() => log.del(next))).code, 'ERR_RECORD_NOT_FOUND')
    harness.release()
    t.equal(await appended, next)
    t.equal(String(await log.get(next)), 'second')
    await log.close()
  })

  tape(`${framing}, always: many appends at once take few syncs; one after the other, one each`, async (t) => {
    const harness = new Harness()
    const log = harness.open({ framing, fsync: 'always' })
    await log.append(bytes('warm'))
    harness.counts.sync = 0
    await Promise.all(Array.from({ length: 256 }, (_, index) => log.append(bytes(`record ${index}`))))
    t.ok(harness.counts.sync <= 2, `${harness.counts.sync} syncs for 256 appends`)
    // Those that come while a sync is under way share the next one.
    harness.counts.sync = 0
    harness.hold()
    const early = log.append(bytes('early'))
    await sleep(5)
    const late = Array.from({ length: 100 }, () => log.append(bytes('late')))
    await sleep(5)
    harness.release()
    await Promise.all([early, ...late])
    t.ok(harness.counts.sync <= 3, `${harness.counts.sync} syncs for 1 and 100 appends`)
    harness.counts.sync = 0
    for (let index = 0; index < 20; index++) await log.append(bytes('alone'))
    t.equal(harness.counts.sync, 20)
    t.equal((await harness.afterPowerCut()).length, 1 + 256 + 101 + 20)
    await log.close()
  })

  tape(`${framing}: sync covers what was appended before the call, awaited or not`, async (t) => {
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      const durables = watch(t, log)
      const first = await log.append(bytes('first'))
      if (fsync !== 'always') t.equal(log.durable.value, -1, fsync)
      const appended = [log.append(bytes('a')), log.append([bytes('b'), bytes('c')])]
      let durableAtCallback = null
      await new Promise((resolve, reject) => log.sync((err) => {
        durableAtCallback = log.durable.value
        return err ? reject(err) : resolve()
      }))
      const [, last] = await Promise.all(appended)
      t.equal(durableAtCallback, last)
      t.ok(durables.includes(last))
      t.equal(log.durable.value, log.since.value)
      t.deepEqual(await harness.afterPowerCut(), ['first', 'a', 'b', 'c'])
      await log.append(bytes('later'))
      if (fsync !== 'always') t.equal(log.durable.value, last, 'what came later is not covered')
      t.ok(first < last)
      await log.close()
    }
  })

  tape(`${framing}: syncs that are asked for while one is under way are done together`, async (t) => {
    const harness = new Harness()
    const log = harness.open({ framing, fsync: 'never' })
    await log.append(bytes('a'))
    harness.hold()
    const before = harness.counts.sync ?? 0
    const first = log.sync()
    await sleep(5)
    const others = Array.from({ length: 50 }, () => log.sync())
    harness.release()
    await Promise.all([first, ...others])
    t.equal(harness.counts.sync - before, 2)
    await log.close()
  })

  tape(`${framing}: close syncs in every mode`, async (t) => {
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      const texts = []
      for (let index = 0; index < 5; index++) {
        texts.push(`record ${index}`)
        await log.append(bytes(texts[index]))
      }
      const unawaited = log.append(bytes('last'))
      await log.close()
      await unawaited
      t.deepEqual(await harness.afterPowerCut(), [...texts, 'last'], fsync)
      const again = OffsetLog(FILE, { storage: harness.disk.crash(() => 0).storage })
      await again.ready()
      if (framing === 'checked') t.equal(again.durable.value, again.since.value, 'and the next open knows')
      t.equal(again.recovery, null)
      await again.close()
    }
  })

  tape(`${framing}: durable is never ahead of since, whatever is done at once (seed ${seed})`, async (t) => {
    const random = createRandom(seed)
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      const durables = watch(t, log)
      const seqs = []
      const running = []
      for (let step = 0; step < 120; step++) {
        const choice = random(8)
        if (choice < 5) running.push(log.append(Array.from({ length: 1 + random(3) }, () => bytes('x'.repeat(1 + random(900))))))
        else if (choice === 5) running.push(log.sync())
        else if (choice === 6 && seqs.length > 0) running.push(log.del(seqs[random(seqs.length)]))
        else seqs.push(...(await Promise.all(running.splice(0))).filter((seq) => typeof seq === 'number'))
        if (random(4) === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await Promise.all(running)
      await log.sync()
      t.equal(log.durable.value, log.since.value, fsync)
      t.ok(durables.length > 1)
      await log.close()
    }
  })

  tape(`${framing}: a failed sync poisons every pending and later append, del, sync, and close, which closes`, async (t) => {
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      watch(t, log)
      const seq = await log.append(bytes('durable'))
      await log.sync()
      const unsynced = fsync === 'always' ? null : await log.append(bytes('not synced'))
      harness.hold()
      harness.loseNextSync()
      const pending = [log.sync(), log.append(bytes('pending')), log.sync(), log.append([bytes('and'), bytes('more')])]
      await sleep(5)
      harness.release()
      const outcomes = await Promise.allSettled(pending)
      // What goes only to the page cache had its callback before; nothing that asks for more has.
      const failures = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason)
      t.ok(failures.length >= (fsync === 'always' ? 3 : 1), `${fsync}: ${failures.length} failed`)
      t.equal(outcomes[0].status, 'rejected')
      t.equal(outcomes[2].status, 'rejected', 'a later sync has nothing to go by')
      for (const call of [() => log.append(bytes('x')), () => log.append([]), () => log.del(seq), () => log.sync()]) {
        failures.push(await failureOf(call))
      }
      for (const err of failures) {
        t.equal(err?.code, 'ERR_LOG_POISONED')
        t.equal(err?.cause?.code, 'EIO')
      }
      t.equal(log.durable.value, seq, 'nothing more is promised')
      t.equal(String(await log.get(seq)), 'durable', 'durable records can be read')
      t.equal((await textsOf(log))[0], 'durable')
      t.equal((await textsOf(log, { reverse: true })).at(-1), 'durable')
      if (fsync === 'always') t.deepEqual([log.since.value, await textsOf(log)], [seq, ['durable']])
      else t.ok(log.since.value >= unsynced)
      t.equal((await failureOf(() => log.close())).code, 'ERR_LOG_POISONED')
      t.equal((await failureOf(() => log.get(seq))).code, 'ERR_LOG_CLOSED')
      // A new checked log is looked for in vain, and what a compaction may have left.
      t.equal(harness.counts.close, harness.counts.open - 2 * Number(framing === 'checked'), 'the file is closed')
    }
  })

  tape(`${framing}: after a failed sync nothing is synced once more, whatever that would say`, async (t) => {
    const harness = new Harness()
    const log = harness.open({ framing })
    await log.append(bytes('a'))
    harness.loseNextSync()
    await failureOf(() => log.sync())
    const { sync, write } = harness.counts
    await Promise.allSettled([log.sync(), log.append(bytes('b')), log.sync(), log.del(0)])
    await failureOf(() => log.close())
    t.deepEqual([harness.counts.sync, harness.counts.write], [sync, write])
    t.deepEqual(await harness.afterPowerCut(), [])
  })

  tape(`${framing}: an append that fails alone does not poison`, async (t) => {
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      await log.append(bytes('first'))
      let count = 0
      harness.fault = (call) => isAppend(call) && count++ === 0 ? { code: 'ENOSPC' } : {}
      t.equal((await failureOf(() => log.append(bytes('no room')))).code, 'ENOSPC')
      const seq = await log.append(bytes('second'))
      await log.sync()
      t.deepEqual([log.since.value, log.durable.value], [seq, seq])
      t.deepEqual(await harness.afterPowerCut(), ['first', 'second'])
      await log.close()
    }
  })

  tape(`${framing}: a write that cannot be undone poisons, and reopening recovers`, async (t) => {
    for (const fsync of MODES) {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      const seq = await log.append(bytes('first'))
      await log.sync()
      let isHalf = true
      harness.fault = (call) => {
        if (call.name === 'truncate') return { code: 'EIO' }
        if (!isAppend(call)) return {}
        if (!isHalf) return { code: 'EIO' }
        isHalf = false
        return { length: 7 }
      }
      const results = await Promise.allSettled([log.append(bytes('torn')), log.append(bytes('of the same write'))])
      const later = await failureOf(() => log.append(bytes('later')))
      for (const err of [...results.map(({ reason }) => reason), later]) {
        t.equal(err?.code, 'ERR_LOG_POISONED')
        t.equal(err?.cause?.code, 'ERR_FILE_NOT_UNDONE')
      }
      t.equal(String(await log.get(seq)), 'first')
      t.equal((await failureOf(() => log.close())).code, 'ERR_LOG_POISONED')
      harness.fault = () => ({})
      const again = harness.open()
      t.deepEqual(await textsOf(again), ['first'])
      t.ok(again.recovery.size >= 7)
      const kept = harness.disk.read(again.recovery.keptAt)
      t.ok(kept.subarray(0, 7).some((byte) => byte > 0) && kept.subarray(7).every((byte) => byte === 0), 'what was torn')
      await again.append(bytes('second'))
      await again.close()
      t.deepEqual(await harness.afterPowerCut(), ['first', 'second'])
    }
  })
}

tape('checked: reopening after a failed sync believes no cache: what it shows as durable survives a power cut', async (t) => {
  for (const fsync of MODES) {
    for (const reopened of MODES) {
      const harness = new Harness()
      const log = harness.open({ fsync })
      await log.append(bytes('durable'))
      await log.sync()
      const unsynced = ['lost?', 'x'.repeat(40000), 'and this?']
      harness.loseNextSync()
      await Promise.allSettled(unsynced.map((text) => log.append(bytes(text))))
      await failureOf(() => log.sync())
      await failureOf(() => log.close())
      t.deepEqual(await harness.afterPowerCut(), ['durable'], 'the medium has the old bytes')
      const again = harness.open({ fsync: reopened })
      const texts = await textsOf(again)
      t.equal(texts.length, 4, 'the cache has the new ones')
      t.equal(again.durable.value, again.since.value)
      t.deepEqual(await harness.afterPowerCut(), texts, 'and brings them to the medium before anything else')
      await again.append(bytes('later'))
      await again.sync()
      t.deepEqual(await harness.afterPowerCut(), [...texts, 'later'], `${fsync}, then ${reopened}`)
      await again.close()
    }
  }
})

tape('checked: megabytes that a failed sync has left in the cache are all written again', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'never' })
  await log.append(bytes('durable'))
  await log.sync()
  for (let index = 0; index < 5; index++) await log.append(Buffer.alloc(700000, 97 + index))
  harness.loseNextSync()
  await failureOf(() => log.sync())
  await failureOf(() => log.close())
  const again = harness.open({ fsync: 'never' })
  await again.sync()
  t.equal(again.durable.value, again.since.value)
  t.deepEqual((await harness.afterPowerCut()).map((text) => text.length), [7, ...Array(5).fill(700000)])
  await again.close()
})

tape('checked: a checkpoint that cannot be undone poisons a sync that waits behind it', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'never' })
  await log.append(bytes('a'))
  harness.hold()
  const first = log.sync()
  await sleep(5)
  await log.append(bytes('b'), () => {})
  const second = log.sync()
  let isHalf = true
  harness.fault = ({ name, position }) => {
    if (name !== 'write' || position >= 32768) return {}
    if (!isHalf) return { code: 'EIO' }
    isHalf = false
    return { length: 20 }
  }
  harness.release()
  await first
  const err = await failureOf(() => second)
  t.equal(err?.code, 'ERR_LOG_POISONED')
  t.equal(err?.cause?.code, 'ERR_FILE_NOT_UNDONE')
  t.ok(log.durable.value < log.since.value, 'nothing more is promised')
  await failureOf(() => log.close())
  harness.fault = () => ({})
  const again = harness.open()
  t.deepEqual(await textsOf(again), ['a', 'b'])
  t.deepEqual(again.recovery?.damage ?? [], [])
  await again.close()
})

tape('checked, always: a close that cannot give room back says so, closes, and has lost nothing', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'always' })
  await log.append(bytes('a'))
  harness.fault = ({ name }) => name === 'truncate' ? { code: 'EIO' } : {}
  t.equal((await failureOf(() => log.close()))?.code, 'EIO')
  t.equal(harness.counts.close, harness.counts.open - 2)
  t.deepEqual(await harness.afterPowerCut(), ['a'])
})

tape('checked: what an unclean end left is durable once the log is open', async (t) => {
  for (const fsync of ['always', 'interval']) {
    const harness = new Harness()
    const log = harness.open({ fsync })
    const seqs = []
    for (let index = 0; index < 10; index++) {
      seqs.push(await log.append(bytes(`record ${index}`)))
      if (fsync === 'interval' && index === 6) await log.sync()
    }
    // The process is gone, the machine is not: all is there.
    const disk = harness.disk.clone()
    const again = OffsetLog(FILE, { storage: disk.storage })
    await again.ready()
    t.equal(again.since.value, seqs[9])
    t.equal(again.durable.value, seqs[9])
    t.deepEqual(await textsAfterPowerCut(disk), seqs.map((_, index) => `record ${index}`))
    t.equal(again.recovery, null)
    await again.sync()
    t.equal(again.durable.value, seqs[9])
    await again.close()
    await log.close()
  }
})

tape('checked, always: a log of many appends writes few slots', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'always' })
  await log.ready()
  harness.counts.headWrite = 0
  for (let index = 0; index < 200; index++) await log.append(Buffer.alloc(1000, 1))
  t.ok(harness.counts.headWrite <= 2, `${harness.counts.headWrite} slots`)
  harness.counts.headWrite = 0
  for (let index = 0; index < 4; index++) await log.append(Buffer.alloc(2 ** 20, 1))
  t.ok(harness.counts.headWrite >= 3, `${harness.counts.headWrite} slots for 4 MiB`)
  await log.close()
})

tape('interval: what was appended is durable within a second or so, with one sync; never: only when asked', async (t) => {
  const harnesses = [...MODES, 'interval'].map(() => new Harness())
  const logs = [...MODES, 'interval'].map((fsync, index) => harnesses[index].open({ fsync }))
  const seqs = []
  const begunMs = performance.now()
  for (const log of logs) {
    await log.append(bytes('a'))
    seqs.push(await log.append(bytes('b')))
  }
  // One is synced by hand: there is nothing left to do when its time comes.
  await logs[3].sync()
  await sleep(10)
  await logs[3].sync()
  for (const harness of harnesses) harness.counts.sync = 0
  await sleep(300)
  // On a busy machine its time may have come.
  if (performance.now() - begunMs < 900) t.equal(logs[1].durable.value, -1)
  while (logs[0].since.value > logs[0].durable.value || logs[1].durable.value === -1) await sleep(10)
  t.deepEqual(logs.map((log) => log.durable.value), [seqs[0], seqs[1], -1, seqs[3]])
  t.equal(harnesses[1].counts.sync, 1)
  t.equal(harnesses[2].counts.sync, 0)
  t.deepEqual(await harnesses[1].afterPowerCut(), ['a', 'b'])
  await sleep(1200)
  t.equal(harnesses[1].counts.sync, 1, 'nothing new, nothing to sync')
  t.equal(harnesses[3].counts.sync, 0)
  await Promise.all(logs.map((log) => log.close()))
})

tape('interval: frequent syncs keep room behind the end and write few slots; the last slot comes with the timer', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'interval' })
  const sizeInFile = () => harness.disk.read(FILE).length
  const emptySize = 32 * 1024
  // On a busy machine a sync may come too late to count as frequent.
  const readClock = performance.now
  performance.now = () => 0
  t.teardown(() => { performance.now = readClock })
  await log.append(Buffer.alloc(100))
  await log.sync()
  const one = sizeInFile() - emptySize
  t.ok(one < 400, `no room for a single sync: ${one} bytes`)
  for (let index = 0; index < 20; index++) {
    await log.append(Buffer.alloc(100))
    await log.sync()
  }
  const many = sizeInFile() - emptySize
  t.ok(many > 64 * 1024, `room behind the end: ${many} bytes`)
  harness.counts.headWrite = 0
  const seqs = []
  for (let index = 0; index < 50; index++) {
    seqs.push(await log.append(bytes(String(index))))
    await log.sync()
    t.equal(log.durable.value, seqs[index])
  }
  t.ok(harness.counts.headWrite <= 1, `${harness.counts.headWrite} slots of 50 syncs`)
  t.equal(sizeInFile() - emptySize, many, 'the file need not grow')
  t.equal((await harness.afterPowerCut()).length, 71, 'all of it is on the disk')
  performance.now = readClock
  harness.counts.headWrite = 0
  await until(() => harness.counts.headWrite > 0)
  await sleep(20)
  t.equal(harness.counts.headWrite, 1, 'a slot for the last one')
  for (let index = 0; index < 20; index++) {
    await log.append(Buffer.alloc(20_000))
    await log.sync()
  }
  await log.close()
  const closed = sizeInFile()
  const again = harness.open({ flags: 'r' })
  await again.ready()
  t.equal((await again.stats()).size, closed, 'closing cuts the room off')
  await again.close()
})

for (const framing of FRAMINGS) {
  for (const fsync of ['interval', 'never']) {
    tape(`${framing}, ${fsync}: an append does not wait for a running sync`, async (t) => {
      const harness = new Harness()
      const log = harness.open({ framing, fsync })
      await log.append(bytes('first'))
      harness.hold()
      const synced = log.sync()
      t.ok(await isPending(synced))
      const appended = log.append(bytes('second'))
      t.notOk(await isPending(appended))
      t.equal(String(await log.get(await appended)), 'second')
      t.ok(await isPending(synced))
      harness.release()
      await synced
      await log.close()
      t.deepEqual(await harness.afterPowerCut({ framing }), ['first', 'second'])
    })
  }
}

tape('interval: a sync in the background that fails poisons, and throws nowhere', async (t) => {
  const harness = new Harness()
  const log = harness.open()
  await log.append(bytes('a'))
  harness.loseNextSync()
  harness.counts.sync = 0
  while (harness.counts.sync === 0) await sleep(10)
  await sleep(20)
  t.equal((await failureOf(() => log.append(bytes('b')))).code, 'ERR_LOG_POISONED')
  t.equal(log.durable.value, -1)
  t.deepEqual(await textsOf(log), ['a'])
  await failureOf(() => log.close())
})

tape('interval: the timer does not keep a process alive', (t) => {
  const script = `const log = require(process.argv[1]).OffsetLog(process.argv[2])
    log.append(Buffer.from('a'), () => {
      // Those that are listed keep the process running.
      setImmediate(() => { process.exitCode = process.getActiveResourcesInfo().includes('Timeout') ? 1 : 0 })
    })`
  const args = ['-e', script, path.join(__dirname, '..'), path.join(temporaryFolder(), 'log')]
  t.equal(spawnSync(process.execPath, args).status, 0)
  t.end()
})

tape('create: a log that is ready is there after a power cut', async (t) => {
  const harness = new Harness()
  const log = harness.open({ fsync: 'never' })
  await log.ready()
  const disk = harness.disk.crash(() => 0)
  t.deepEqual(disk.list(), [FILE])
  t.equal(disk.read(FILE).length, 32768)
  t.deepEqual([log.since.value, log.durable.value], [-1, -1])
  await log.sync()
  t.equal(log.durable.value, -1)
  await log.close()
})

const durableSeed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31

tape(`durable: never behind an append that has called back under always, nor behind sync, in any framing (always-durable-lags, seed ${durableSeed})`, async (t) => {
  const random = createRandom(durableSeed)
  const failures = []
  for (let run = 0; run < inQuickRuns(600); run++) {
    const framing = ['checked', 'offset32', 'offset48', 'offset53'][run % 4]
    const fsync = ['always', 'interval', 'never'][random(3)]
    const log = OffsetLog('/test.log', { framing, fsync, storage: slowStorage(new SimulatedDisk().storage, random) })
    await log.ready()
    const note = (what) => failures.push(`run ${run}, ${framing}, ${fsync}: ${what}, durable ${log.durable.value}`)
    const pending = []
    for (let step = 0; step < 40; step++) {
      const what = random(8)
      if (what < 3) {
        pending.push(log.append(Buffer.from('a')).then((seq) => {
          if (log.since.value < seq) note(`since ${log.since.value} behind append ${seq}`)
          if (fsync === 'always' && log.durable.value < seq) note(`append ${seq}`)
        }))
      } else if (what === 3) {
        const { value } = log.since
        pending.push(log.sync().then(() => { if (log.durable.value < value) note(`sync at ${value}`) }))
      } else if (what === 4) log.flushSync({ sync: random(2) === 0 })
      else if (what === 5) log.appendSync(Buffer.from('b'), { sync: random(2) === 0 })
      else if (what === 6) await new Promise(setImmediate)
      else await Promise.all(pending.splice(0))
    }
    await Promise.all(pending)
    await log.close()
    if (log.durable.value !== log.since.value) note(`close at ${log.since.value}`)
  }
  t.deepEqual(failures, [])
})

/** A storage whose syncs that wait are held back, once `held` has a list; those that do not wait succeed. */
function holdingStorage () {
  const held = { syncs: null }
  const wrap = (name, handle) => ({
    ...handle,
    sync: (cb) => held.syncs === null || name.endsWith('.compacting') ? handle.sync(cb) : held.syncs.push(cb)
  })
  const open = (name, options, cb) => fileStorage.open(name, options, (err, handle) => {
    cb(err, handle && wrap(name, handle))
  })
  return { held, storage: { ...fileStorage, openSync: undefined, open } }
}

for (const during of ['the first append', 'a compaction']) {
  tape(`flushSync beside the sync of ${during} promises nothing until that one ends: the kernel tells one of them of a failure`, async (t) => {
    for (const fsync of ['interval', 'always']) {
      for (const outcome of [null, new Error('EIO: simulated')]) {
        const { held, storage } = holdingStorage()
        const log = OffsetLog(path.join(temporaryFolder(), 'log'), { fsync, storage })
        await log.ready()
        log._file.blocks._writer._syncIo.mayBlock = () => false
        if (during === 'a compaction') await log.append(bytes('before'))
        if (during === 'a compaction') await log.sync()
        const before = log.durable.value
        held.syncs = []
        const compacting = during === 'a compaction' ? failureOf(() => log.compact()) : null
        const appending = during === 'a compaction' ? null : failureOf(() => log.append(bytes('a')))
        await until(() => held.syncs.length > 0)
        if (compacting === null) log.flushSync()
        else log.appendSync(bytes('a'))
        t.equal(log.durable.value, before, `${fsync}, meanwhile`)
        const syncs = held.syncs
        held.syncs = null
        for (const cb of syncs) cb(outcome)
        await compacting
        await appending
        const failure = await failureOf(() => log.sync())
        t.equal(failure?.code, outcome === null ? undefined : 'ERR_LOG_POISONED')
        t.equal(log.durable.value, outcome === null ? log.since.value : before, `${fsync}, ${outcome}`)
        await failureOf(() => log.close())
      }
    }
  })
}
