// Areas by numbers: the squarified layout of Bruls, Huizing and van Wijk.

/** The worst ratio of sides of the areas in a row along a side of such a length. */
function worst(areas, sum, side) {
  const greatest = areas[0];
  const smallest = areas[areas.length - 1];
  return Math.max((side * side * greatest) / (sum * sum), (sum * sum) / (side * side * smallest));
}

/**
 * @param values Positive numbers, largest first.
 * @returns For each of them a rectangle; together they fill the whole.
 */
export function squarified(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const scale = total > 0 ? (width * height) / total : 0;
  const areas = values.map((value) => value * scale);
  const rectangles = [];
  let [x, y, w, h] = [0, 0, width, height];
  let start = 0;
  while (start < areas.length) {
    const side = Math.min(w, h);
    let end = start + 1;
    let sum = areas[start];
    while (end < areas.length) {
      const longer = sum + areas[end];
      if (worst(areas.slice(start, end + 1), longer, side) > worst(areas.slice(start, end), sum, side)) break;
      sum = longer;
      end += 1;
    }
    const depth = side > 0 ? sum / side : 0;
    let place = 0;
    for (const area of areas.slice(start, end)) {
      const length = depth > 0 ? area / depth : 0;
      rectangles.push(w >= h
        ? { x, y: y + place, width: depth, height: length } : { x: x + place, y, width: length, height: depth });
      place += length;
    }
    if (w >= h) [x, w] = [x + depth, Math.max(0, w - depth)];
    else [y, h] = [y + depth, Math.max(0, h - depth)];
    start = end;
  }
  return rectangles;
}
