'use strict'
// Whether a peer is there at all: what it needs loads, and it takes a record.

/**
 * @param {import('./shapes').Peer} peer
 * @param {import('./shapes').Setting} setting
 * @returns {Promise<{ packages: string[] }>}
 */
async function probe (peer, { folder }) {
  const store = await peer.open(folder, 'append')
  await store.append?.([Buffer.from('a record')])
  await store.settle?.()
  await store.close()
  return { packages: store.packages ?? peer.packages }
}

exports.probe = probe
