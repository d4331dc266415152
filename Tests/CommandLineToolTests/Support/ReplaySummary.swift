/// The output of `replay --json`.
struct ReplaySummary: Decodable {
  let requests: Int
  let memoryHits: Int
  let diskHits: Int
  let misses: Int
  let evictions: Int
  let memoryEvictions: Int
  let diskEvictions: Int
  let wrongValues: Int
  let hitRatio: Double
  let seconds: Double
  let requestsPerSecond: Double
  let p50Nanoseconds: Int
  let p99Nanoseconds: Int
  let p999Nanoseconds: Int
  let bytesOnDisk: Int
  let isInterrupted: Bool
  let memoryHitTimes: Times?
  let diskHitTimes: Times?
  let hitTimes: Times?
  let missTimes: Times?

  struct Times: Decodable {
    let requests: Int
    let p50Nanoseconds: Int
    let p99Nanoseconds: Int
    let p999Nanoseconds: Int
  }
}
