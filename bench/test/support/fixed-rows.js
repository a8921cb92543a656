'use strict'
// Rows of the engine whose figures are known beforehand: what `setting` says of a peer is what its processes report.

const peers = ['millrace', 'other', 'third'].map((name) => ({ name, label: name.toUpperCase(), kind: name === 'millrace' ? 'millrace' : 'x', packages: [] }))

/** @type {(order: any) => Promise<any>} */
async function measure ({ peer, side, at = 1, setting }) {
  if (side.dies) throw new Error(`made of cheese in ${setting.place ?? 'no place'}`)
  return { figures: { ms: side.ms * at }, answers: { '': side.answer ?? {} }, packages: [`package-of-${peer.name}`] }
}

const row = (name, sides, more) => ({ name, what: `${name}, fixed`, peers: sides, figures: [{ figure: 'ms', unit: 'ms' }], measure, ...more })

exports.peers = peers
exports.parts = [
  row('plain', { millrace: { ms: 2 }, other: { ms: 3 } }),
  row('sizes', { millrace: { ms: 1 }, other: { ms: 2 } }, { at: [1, 2, 4], isOnce: ({ peer, at }) => peer.name === 'other' && at === 1 }),
  row('last', { millrace: { ms: 1 } }, { isLast: true }),
  row('mortal', { millrace: { ms: 1 }, other: { dies: true } }),
  row('ours-dies', { millrace: { dies: true } }),
  row('liar', { millrace: { ms: 1, answer: { records: 5 } }, other: { ms: 1, answer: { records: 4 } } }),
  row('unlike-prepared', { millrace: { ms: 1, answer: { records: 5 } } }, { prepare: () => ({ answers: { '': { records: 6 } } }) }),
  row('needy', { millrace: { ms: 1 } }, { needs: { 'a golden disk': () => { throw new Error() } } }),
  row('no-room', { millrace: { ms: 1 } }, { prepare: () => ({ absent: '10 GB of room on the disk' }) }),
  row('unprepared', { millrace: { ms: 1 }, other: { ms: 1 } }, { prepare: ({ generated }) => ({ cannot: { other: `${generated}/store is full` } }) }),
  row('cannot', { millrace: { ms: 1 }, third: { ms: 1 } }, { cannot: { third: 'never syncs' } })
]
