// @ts-nocheck
'use strict'
// Plays a scenario in every order of its steps in which a process is interrupted a bounded number of times. Two
// histories after which nobody can tell the difference are one.

const { Model, Violation, takeTime } = require('./model')

const STATES_PER_TELL = 10_000

/**
 * @param {import('./model').Scenario} scenario
 * @param {{ SegmentedLog: any, OffsetLog: any }} logs
 * @param {(states: number) => void} [tell]  called now and then
 * @returns {Promise<{ states: number, ends: number, violation: string | null, history: string[] }>}  `history` leads to
 *   the violation
 */
async function explore (scenario, logs, tell = () => {}) {
  const giveBack = takeTime()
  /** By state: the fewest interruptions after which it was reached. */
  const seen = new Map()
  /** @type {any[]} */
  const todo = [{ before: null, move: null, count: 0, last: -1 }]
  let ends = 0
  try {
    while (todo.length > 0) {
      let at = todo.pop()
      try {
        const model = await replay(scenario, logs, at)
        for (;;) {
          const key = `${at.last} ${model.key()}`
          if ((seen.get(key) ?? Infinity) <= at.count) break
          seen.set(key, at.count)
          if (seen.size % STATES_PER_TELL === 0) tell(seen.size)
          const next = nextOf(model, at).filter(({ count }) => count <= scenario.interruptions)
          if (next.length === 0) {
            ends++
            await model.checkEnd()
            break
          }
          const [first, ...others] = next
          todo.push(...others)
          at = first
          await model.make(at.move)
        }
      } catch (err) {
        if (!(err instanceof Violation)) throw err
        return { states: seen.size, ends, violation: err.message, history: await describe(scenario, logs, at) }
      }
    }
    return { states: seen.size, ends, violation: null, history: [] }
  } finally {
    giveBack()
  }
}

/** What may happen next; what costs no interruption comes first. */
function nextOf (model, at) {
  const process = model.processes[at.last]
  // Whoever begins something, or waits, gives the others a turn.
  const goesOn = process?.isAlive && !process.isDone && !/^(begin|pause)/.test(process.pending[0].name)
  return model.moves().map((move) => {
    const [kind, index] = move
    const isInterrupted = kind === 'step' && goesOn && index !== at.last
    return { before: at, move, count: at.count + (isInterrupted ? 1 : 0), last: kind === 'step' ? index : at.last }
  }).sort((a, b) => a.count - b.count)
}

/** The moves that lead to a point. */
function movesTo (at) {
  const moves = []
  for (; at.move; at = at.before) moves.unshift(at.move)
  return moves
}

async function replay (scenario, logs, at) {
  const model = new Model(scenario, logs)
  await model.begin()
  for (const move of movesTo(at)) await model.make(move)
  return model
}

async function describe (scenario, logs, at) {
  const model = new Model(scenario, logs)
  await model.begin()
  const lines = []
  for (const move of movesTo(at)) {
    const [kind, index] = move
    const { pid, pending } = model.processes[index]
    lines.push(`${pid} ${kind === 'die' ? 'dies' : pending[0].name}`)
    // The last may be the violation, which is told anyway.
    await model.make(move).catch(() => {})
  }
  return lines
}

exports.explore = explore
