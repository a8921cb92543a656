'use strict'
// A task that fails, in the way and at the seq that it is told.

module.exports = ({ how, from = 0, stop = Infinity }) => {
  if (how === 'made') throw new Error('mine')
  if (how === 'no task') return 5
  const ways = {
    throw () { throw Object.assign(new TypeError('mine'), { code: 'ERR_MINE' }) },
    'throw text' () { throw 'mine' }, // eslint-disable-line no-throw-literal
    exit () { process.exit(3) },
    later () { setImmediate(() => { throw new Error('mine') }) },
    // Whoever waits for this one waits for ever.
    hang () { for (;;); }
  }
  let isDue = false
  return {
    onRecords ({ count, seqs }) {
      const isHere = seqs[0] >= from && seqs[0] < stop
      isDue ||= isHere
      if (isHere) ways[how]?.()
    },
    end () {
      if (how === 'end' && isDue) throw new Error('mine')
      return how === 'function' && isDue ? () => {} : 'good'
    }
  }
}
