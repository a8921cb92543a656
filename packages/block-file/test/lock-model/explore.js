'use strict'
// Plays a scenario in every order of its steps. Two histories after which nobody can tell the difference are one.

const { Model, Violation } = require('./model')

/**
 * @param {import('./model').Scenario} scenario
 * @param {Function} take
 * @returns {{ states: number, ends: number, leftovers: Set<string>, violation: string | null, history: string[] }}
 *   `history` leads to the violation
 */
function explore (scenario, take) {
  const seen = new Set()
  const leftovers = new Set()
  const todo = [{ before: null, move: null }]
  let ends = 0
  while (todo.length > 0) {
    let at = todo.pop()
    try {
      const model = replay(scenario, take, at)
      for (;;) {
        const key = model.key()
        if (seen.has(key)) break
        seen.add(key)
        const [move, ...others] = model.moves()
        for (const move of others) todo.push({ before: at, move })
        // Where all that is left is that somebody dies, it may also not happen.
        if (!model.actors.some(({ pending, isAlive }) => isAlive && pending)) {
          ends++
          for (const path of replay(scenario, take, at).checkEnd()) leftovers.add(path)
        }
        if (!move) break
        at = { before: at, move }
        model.make(move)
      }
    } catch (err) {
      if (!(err instanceof Violation)) throw err
      return { states: seen.size, ends, leftovers, violation: err.message, history: describe(scenario, take, at) }
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

function replay (scenario, take, at) {
  const model = new Model(scenario, take)
  for (const move of movesTo(at)) model.make(move)
  return model
}

function describe (scenario, take, at) {
  const model = new Model(scenario, take)
  return movesTo(at).map((move) => {
    const [kind, index] = move
    const line = `${index + 1} ${kind === 'die' ? 'dies' : model.actors[index].pending.name}`
    try {
      model.make(move)
    } catch {
      // The violation, which is told anyway.
    }
    return line
  })
}

exports.explore = explore
