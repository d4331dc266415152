/// Disk operations with incompressible values of three sizes. The files are in the page cache, like those of an active
/// program.
enum DiskWorkloads {
  static func all(_ setting: Setting) -> [Workload] {
    let sizes = setting.pick(check: [100], quick: [100, 4096, 102_400], full: [100, 4096, 102_400])
    let shapes = sizes.map { size in
      switch size {
      case ..<1000: DiskShape(size: size, count: setting.pick(check: 2000, quick: 10_000, full: 100_000))
      case ..<10_000: DiskShape(size: size, count: setting.pick(check: 500, quick: 2000, full: 20_000))
      default: DiskShape(size: size, count: setting.pick(check: 100, quick: 100, full: 1000))
      }
    }
    return shapes.map { DiskWrites.set($0) } + shapes.map(DiskWrites.setInBatches) + shapes.map(DiskWrites.replace)
      + shapes.map { DiskReads.random($0) } + shapes.map(DiskReads.missing) + shapes.map(DiskWrites.remove)
      + shapes.map(DiskReads.reopen) + reopenings(setting) + [
        DiskStructs.workload(keys: shapes[0].count),
        DiskTrim.workload(keys: setting.pick(check: 2000, quick: 50_000, full: 100_000)),
        DiskTrim.most(keys: setting.pick(check: 2000, quick: 100_000, full: 5_000_000)),
      ] + bySize(setting) + DiskSpace.Removal.allCases.map { DiskSpace.workload($0, spacious(setting)) }
  }

  /// The effect of a value's size: each size gets a third of a megabyte to 32 MB.
  private static func bySize(_ setting: Setting) -> [Workload] {
    let bytes = setting.pick(check: 300_000, quick: 8 << 20, full: 32 << 20)
    let shapes = [100, 1_000, 4_000, 16_000, 100_000, 1_000_000].map { size in
      DiskShape(size: size, count: max(1, min(bytes / size, setting.pick(check: 200, quick: 5_000, full: 20_000))))
    }
    return shapes.map { DiskWrites.set($0, name: "disk.set.bySize") }
      + shapes.map { DiskReads.random($0, name: "disk.get.bySize") }
  }

  /// Well over two gigabytes in a whole run.
  private static func spacious(_ setting: Setting) -> DiskShape {
    DiskShape(size: 10_000, count: setting.pick(check: 1_000, quick: 5_000, full: 240_000))
  }

  /// Over a gigabyte in a whole run, to show the effect of the size.
  private static func reopenings(_ setting: Setting) -> [Workload] {
    if KilledWriter.program == nil { return [] }
    return [
      DiskReads.reopenAfterKill(DiskShape(size: 10_000, count: setting.pick(check: 100, quick: 5_000, full: 100_000)))
    ]
  }
}
