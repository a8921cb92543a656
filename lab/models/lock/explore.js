// @ts-nocheck
'use strict'
// Plays a scenario in every order of its steps. Two histories after which nobody can tell the difference are one.

const { Model, Violation } = require('./model')

/**
 * @param {import('./model').Scenario} scenario
 * @param {Function} take
 * @returns {Promise<{
 *   states: number, ends: number, leftovers: Set<string>, violation: string | null, history: string[]
 * }>}  `history` leads to the violation
 */
async function explore (scenario, take) {
  const seen = new Set()
  const leftovers = new Set()
  const todo = [{ before: null, move: null }]
  let ends = 0
  while (todo.length > 0) {
    let at = todo.pop()
    try {
      const model = await replay(scenario, take, at)
      for (;;) {
        const key = model.key()
        if (seen.has(key)) break
        seen.add(key)
        const [move, ...others] = model.moves()
        for (const move of others) todo.push({ before: at, move })
        // Where all that is left is that somebody dies, it may also not happen.
        if (!model.actors.some(({ pending, isAlive }) => isAlive && pending)) {
          ends++
          const model = await replay(scenario, take, at)
          for (const path of await model.checkEnd()) leftovers.add(path)
        }
        if (!move) break
        at = { before: at, move }
        await model.make(move)
      }
    } catch (err) {
      if (!(err instanceof Violation)) throw err
      return { states: seen.size, ends, leftovers, violation: err.message, history: await describe(scenario, take, at) }
    }
  }
  return { states: seen.size, ends, leftovers, violation: null, history: [] }
}

/** The moves that lead to a point. */
function movesTo (at) {
  const moves = []
  for (; at.move; at = at.before) moves.unshift(at.move)
  return moves
}

async function replay (scenario, take, at) {
  const model = new Model(scenario, take)
  for (const move of movesTo(at)) await model.make(move)
  return model
}

async function describe (scenario, take, at) {
  const model = new Model(scenario, take)
  const lines = []
  for (const move of movesTo(at)) {
    const [kind, index] = move
    lines.push(`${index + 1} ${kind === 'die' ? 'dies' : model.actors[index].pending.name}`)
    // The last may be the violation, which is told anyway.
    await model.make(move).catch(() => {})
  }
  return lines
}

exports.explore = explore
