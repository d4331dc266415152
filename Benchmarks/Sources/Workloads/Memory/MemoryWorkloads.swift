/// Memory operations. Keys are random strings of 14 to 19 bytes, each allocated separately like those that a program
/// makes for every request.
enum MemoryWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let most = setting.pick(check: 10_000, quick: 1_000_000, full: 1_000_000)
    let counts = setting.pick(check: [most], quick: [10_000, 200_000], full: [10_000, 200_000, most])
    var workloads: [Workload] = []
    workloads += setting.pick(check: counts, quick: counts + [most], full: counts).map(MemoryGet.random)
    for count in [100, 1_000, 10_000] {
      workloads.append(MemoryThreads.workload(PlainNumber.self, keys: count))
      workloads.append(MemoryThreads.workload(Payload.self, keys: count))
    }
    workloads += counts.map(MemoryGet.many)
    workloads += counts.map(MemoryGet.missing)
    workloads += counts.map(MemoryGet.mixed)
    workloads.append(MemoryZipf.workload(keys: most, capacity: most / 10))
    workloads += counts.map { MemorySet.workload(keys: $0, capacity: nil) }
    workloads += counts.map { MemorySet.workload(keys: $0, capacity: $0 / 10) }
    workloads.append(MemoryFootprint.workload(keys: most))
    workloads.append(MemoryTrim.workload(keys: setting.pick(check: 10_000, quick: 100_000, full: 100_000)))
    return workloads
  }
}
