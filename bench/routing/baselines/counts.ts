/** Successes and failures of each arm, with past outcomes discounted or dropped. */
export interface OutcomeCounts {
  successes: Float64Array;
  failures: Float64Array;
  add(arm: number, reward: number): void;
}

/** Counts that are all multiplied by `keep` at each outcome of any arm; with 1, no outcome is discounted. */
export function discountedCounts(arms: number, keep: number): OutcomeCounts {
  const successes = new Float64Array(arms);
  const failures = new Float64Array(arms);
  return {
    successes,
    failures,
    add(arm, reward) {
      for (let each = 0; keep !== 1 && each < arms; each += 1) {
        successes[each]! *= keep;
        failures[each]! *= keep;
      }
      successes[arm]! += reward;
      failures[arm]! += 1 - reward;
    },
  };
}

/** Counts the last `size` outcomes of all arms together. */
export function windowedCounts(arms: number, size: number): OutcomeCounts {
  const successes = new Float64Array(arms);
  const failures = new Float64Array(arms);
  const armOf = new Int32Array(size);
  const rewardOf = new Uint8Array(size);
  let added = 0;
  return {
    successes,
    failures,
    add(arm, reward) {
      const place = added % size;
      if (added >= size) {
        successes[armOf[place]!]! -= rewardOf[place]!;
        failures[armOf[place]!]! -= 1 - rewardOf[place]!;
      }
      armOf[place] = arm;
      rewardOf[place] = reward;
      successes[arm]! += reward;
      failures[arm]! += 1 - reward;
      added += 1;
    },
  };
}

/** Counts the last `size` outcomes of each arm. */
export function windowedCountsByArm(arms: number, size: number): OutcomeCounts {
  const windows = Array.from({ length: arms }, () => windowedCounts(1, size));
  const successes = new Float64Array(arms);
  const failures = new Float64Array(arms);
  return {
    successes,
    failures,
    add(arm, reward) {
      const window = windows[arm]!;
      window.add(0, reward);
      successes[arm] = window.successes[0]!;
      failures[arm] = window.failures[0]!;
    },
  };
}
