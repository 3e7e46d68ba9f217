// The last 15 minutes, which the server keeps: GET /v2/console/history.
import {get} from "./api.js";

const NS_PER_MS = 1e6;
/** Longer than this between the end of one point and the begin of the next one: nobody has looked meanwhile. */
const GAP_S = 2;

/** The answer, its points as objects; null: this caller may not see it. */
export async function history(signal, query = "") {
  try {
    const found = await get(`/v2/console/history${query}`, signal);
    found.points = found.points.map((values) => Object.fromEntries(found.columns.map((name, i) => [name, values[i]])));
    return found;
  } catch (error) {
    if (signal.aborted || error.status === 401) throw error;
    return null;
  }
}

/** Puts the points of the history in the place of those that are there from its begin on.
 * \param values  what a point is for each of `all`: [Points, point => values] */
export function fill(all, found) {
  if (found === null || found.points.length === 0) return;
  const begin = (point) => (point.time_ms - point.covers_ms) / 1000;
  for (const [points, values] of all) {
    points.cut(found.points[0].time_ms / 1000);
    for (const point of found.points) {
      if (begin(point) > points.last + GAP_S) points.gap(begin(point));
      points.add(point.time_ms / 1000, values(point));
    }
  }
}

export const perSecond = (point, count) => count * 1000 / point.covers_ms;
export const ms = (ns) => (ns === 0 ? null : ns / NS_PER_MS);
