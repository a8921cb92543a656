// What k6 runs: users who come, send events as fast as they are answered, and go.

import http from 'k6/http'

const { URL, SECONDS } = __ENV
const STAGES = [[4, 10], [8, 20], [12, 30], [12, 30], [6, 10], [3, 0]]
const ALL = STAGES.reduce((sum, [share]) => sum + share, 0)

export const options = {
  stages: STAGES.map(([share, target]) => ({ duration: `${Math.round(SECONDS * share / ALL * 1000)}ms`, target })),
  gracefulRampDown: '3s',
  summaryTrendStats: ['p(95)', 'p(99)', 'max']
}

export default function () {
  http.put(`${URL}/v1/se/source${__VU % 30}/event${__ITER % 100}`)
}
