'use strict'
// A power cut, or the end of the process, at every step of a log's life.

const tape = require('tape')
const { SimulatedDisk, createRandom } = require('@millrace/testkit')
const { SegmentedLog } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const FOLDER = '/logs'
const OPTIONS = { segmentSize: 34_000, openSegments: 1 }

/** What the program that is to crash has done and was promised. */
class Story {
  /** @type {string[]} */
  appended = []
  calledBack = 0
  promised = 0
  /** Records below this number may be dropped. */
  droppable = 0
  /** The number of the record from which on a hold keeps them; null if there is none. */
  held = null

  clone () {
    return Object.assign(new Story(), this, { appended: [...this.appended] })
  }
}

async function live (disk, story, random, stepCount) {
  const log = SegmentedLog(FOLDER, { ...OPTIONS, storage: disk.storage })
  const seqs = []
  const sync = async () => {
    const { calledBack } = story
    await log.sync()
    story.promised = Math.max(story.promised, calledBack)
  }
  const append = async () => {
    const texts = Array.from({ length: 1 + random(3) }, () => `${story.appended.length} `.padEnd(random(900), 'x'))
    const numbers = texts.map((text, i) => text.replace(/^\d+/, String(story.appended.length + i)))
    story.appended.push(...numbers)
    await log.append(numbers.map((text) => Buffer.from(text)))
    for (let i = numbers.length; i > 0; i--) seqs.push(log.since.value)
    story.calledBack = story.appended.length
  }
  const actions = [append, append, append, sync, async () => log.roll(), async () => {
    const number = random(story.appended.length + 1)
    if (number >= seqs.length) return
    story.droppable = Math.max(story.droppable, Math.min(number, story.held ?? Infinity))
    await log.dropBefore(seqs[number])
  }, async () => {
    const number = random(seqs.length + 1)
    if (number < story.droppable || number >= seqs.length) return
    story.held = null
    await log.hold('h', seqs[number])
    story.held = number
  }, async () => {
    story.held = null
    await log.release('h')
    story.held = null
  }]
  for (let step = 0; step < stepCount; step++) await actions[random(actions.length)]()
  await log.close()
  story.promised = story.appended.length
}

/** Whether the log is what the story allows, can go on, and leaves nothing behind. */
async function check (disk, story) {
  const log = SegmentedLog(FOLDER, { ...OPTIONS, storage: disk.storage })
  const seqs = []
  const texts = []
  for await (const { seq, value } of log.stream()) {
    seqs.push(seq)
    texts.push(String(value))
  }
  const first = texts.length === 0 ? 0 : Number(texts[0].match(/^\d+/)[0])
  const end = first + texts.length
  const expected = story.appended.slice(first, end)
  if (texts.join() !== expected.join()) return `not one piece of what was appended: ${texts.map((text) => parseInt(text))}`
  if (end < story.promised) return `${story.promised} records were promised, ${end} are there`
  if (first > story.droppable && first > 0) return `records below ${first} are gone, ${story.droppable} may be`
  if (log.recovery?.damage.length > 0) return `called damaged: ${JSON.stringify(log.recovery)}`
  if (log.since.value !== (seqs.at(-1) ?? -1)) return `since is ${log.since.value}, not ${seqs.at(-1)}`
  const last = await log.append(Buffer.from(String(story.appended.length)))
  if (last <= log.since.value - 1 || last <= (seqs.at(-1) ?? -1)) return 'a seq that is too low'
  await log.roll()
  await log.append(Buffer.from('end'))
  if (await log.count() !== texts.length + 2) return 'what was appended afterwards is not there'
  await log.close()
  const strange = disk.list().filter((file) => !/^\/logs\/(\d{16}-\d{8}T\d{9}Z\.log(\.cut-\d+)?|h\.\d{16}\.hold)$/.test(file))
  if (strange.length > 0) return `left behind: ${strange}`
  const again = SegmentedLog(FOLDER, { ...OPTIONS, storage: disk.crash(() => 0).storage })
  const count = await again.count()
  await again.close()
  return count === texts.length + 2 ? null : `${count} records after a second crash`
}

tape(`crash: at every step, nothing promised is lost and nothing is left behind (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  let imageCount = 0
  for (let round = 0; round < 12; round++) {
    const images = []
    const story = new Story()
    const disk = new SimulatedDisk({
      onChange: (call) => {
        if (random(3) === 0) images.push({ disk: disk.clone({ onChange: null }), story: story.clone(), name: `${call.name} of ${call.path}` })
      }
    })
    await live(disk, story, random, 25)
    images.push({ disk: disk.clone({ onChange: null }), story: story.clone(), name: 'the end' })
    for (const { disk, story, name } of images) {
      const outcomes = [['power cut', disk.crash(random)], ['kill', disk]]
      for (const [kind, after] of outcomes) {
        imageCount++
        const fault = await check(after, kind === 'kill' ? { ...story, promised: story.calledBack } : story).catch((err) => err.stack)
        if (fault) t.fail(`${kind} before ${name}: ${fault}`)
      }
    }
  }
  t.ok(imageCount > 100, `${imageCount} images`)
})
