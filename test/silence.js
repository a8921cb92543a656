'use strict'
// What a test file waits for that prints nothing: the runner asks it, and looks at its process.
//
// glibc before 2.41 loses a wake-up of a thread now and then (https://sourceware.org/bugzilla/show_bug.cgi?id=25847).
// Then a call to the file system does not begin until the next one wakes another thread of the pool, and a file that
// makes one call at a time waits forever. So the file makes one more call: if it then goes on, that was the cause.

const fs = require('node:fs')

const SIGNAL = 'SIGUSR2'
const MARK = '# silent: '
/** How long the file goes on after its extra call before it says again what it waits for. */
const AGAIN_MS = 1000
/** Of /proc/<pid>/stat. */
const TICKS_A_SECOND = 100

/** In the process of a test file. */
function answerWhenAsked () {
  // Windows has no such signal.
  if (process.platform === 'win32') return
  process.on(SIGNAL, () => {
    tell('it waits for')
    fs.stat(__filename, () => setTimeout(() => tell('after one more call to the thread pool it waits for'), AGAIN_MS).unref())
  })
}

/** @param {string} what */
function tell (what) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const name of process.getActiveResourcesInfo()) counts[name] = (counts[name] ?? 0) + 1
  const text = Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(', ')
  console.error(`${MARK}${what} ${text || 'nothing'}`)
}

/** A question of the runner to a silent file. */
class Question {
  #pid
  #before
  #beganMs = performance.now()
  #lines = ''

  /** @param {import('node:child_process').ChildProcess} child  of a test file */
  constructor (child) {
    this.#pid = Number(child.pid)
    this.#before = look(this.#pid)
    if (process.platform !== 'win32') child.kill(SIGNAL)
  }

  /**
   * @param {Buffer} chunk  of the file's output
   * @returns {boolean}  whether it only answers
   */
  takes (chunk) {
    const lines = chunk.toString().split('\n').filter((line) => line !== '')
    const answers = lines.filter((line) => line.startsWith(MARK))
    this.#lines += answers.map((line) => `${line}\n`).join('')
    return answers.length === lines.length
  }

  /** Call it before the file is ended. */
  lookAgain () {
    const now = look(this.#pid)
    if (this.#lines === '') this.#lines += `${MARK}it does not answer: its thread is busy or blocked\n`
    if (now === null || this.#before === null) return
    const s = Math.round((performance.now() - this.#beganMs) / 1000)
    const used = (now.ticks - this.#before.ticks) / TICKS_A_SECOND
    const others = childrenOf(this.#pid).map((pid) => `${look(pid)?.text ?? 'one'} (${pid})`)
    this.#lines += `${MARK}in the last ${s} s its process took ${used} s of a processor; it is ${now.text}; processes of its own: ` +
      `${others.join(', ') || 'none'}\n`
  }

  /** What was found out, in lines. */
  get text () {
    return this.#lines
  }
}

/** @type {(pid: number) => { text: string, ticks: number } | null} null where the system does not tell */
function look (pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'latin1')
    const [, name, rest] = /\((.*)\) (.*)/s.exec(stat) ?? []
    const fields = rest.split(' ')
    return { text: `${name}, ${fields[0]}`, ticks: Number(fields[11]) + Number(fields[12]) }
  } catch {
    return null
  }
}

/** @type {(pid: number) => number[]} */
function childrenOf (pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

exports.answerWhenAsked = answerWhenAsked
exports.Question = Question
