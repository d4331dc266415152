import Foundation

/// Sets (one by one and in batches, into a new store and over old values) and removals.
enum DiskWrites {
  private static let kinds: [DiskSubjectKind] =
    [
      .diskCache(), .diskCache("LMDBCaching, disk only, until committed", commits: true), .cache, .lmdb, .sqlite,
    ] + DiskSubjectKind.optional + [.files]

  static func set(_ shape: DiskShape, name: String = "disk.set") -> Workload {
    Workload(name, shape.parameters) { setting in
      let value = shape.value
      return setting.chosen(kinds).map { kind in
        let keys = shape.keys(seed: 9).prefix(shape.writes(by: kind))
        return inNewStore(kind, shape, keys.count, setting) {
          try $0.set(keys, value)
        } verify: {
          try $0.verify(keys, have: value, kind.name)
        }
      }
    }
  }

  static func setInBatches(_ shape: DiskShape) -> Workload {
    let kinds: [DiskSubjectKind] =
      [
        .diskCache(), .diskCache("LMDBCaching, disk only, fast", durability: .fast),
        .diskCache("LMDBCaching, disk only, until committed", commits: true), .lmdbSynchronized, .lmdb, .sqlite,
      ] + DiskSubjectKind.optional
    return Workload("disk.set.batch1000", shape.parameters) { setting in
      let keys = shape.keys(seed: 9)
      // LMDB is the floor: it gets each batch already sorted.
      let sorted = keys.sorted(inRunsOf: 1000)
      let value = shape.value
      return setting.chosen(kinds).map { kind in
        let keys = kind.name.hasPrefix("LMDB in C") ? sorted : keys
        return inNewStore(kind, shape, keys.count, setting) {
          try $0.set(keys, value, inBatchesOf: 1000)
        } verify: {
          try $0.verify(keys, have: value, kind.name)
        }
      }
    }
  }

  static func replace(_ shape: DiskShape) -> Workload {
    Workload("disk.replace", shape.parameters) { setting in
      let values = [shape.value, shape.replacement]
      return try setting.chosen(kinds).map { kind in
        let keys = shape.keys(seed: 10).prefix(shape.writes(by: kind))
        let directory = try setting.directory()
        let subject = try shape.filled(kind, in: directory)
        var turn = 0
        return Trial(
          kind.name, operations: keys.count,
          before: { turn += 1 },
          verify: {
            try subject.verify(keys, have: values[turn % 2], kind.name)
            try subject.verifyIdentity(valueSize: shape.size, kind.name)
          },
          after: {
            try subject.settle()
            return [:]
          },
          finish: {
            try subject.close()
            try setting.remove(directory)
          },
          body: { try subject.set(keys, values[turn % 2]) })
      }
    }
  }

  static func remove(_ shape: DiskShape) -> Workload {
    Workload("disk.remove", shape.parameters) { setting in
      setting.chosen(kinds).map { kind in
        let shape = shape.refilled(by: kind)
        let all = shape.keys(seed: 11)
        let keys = all.prefix(shape.writes(by: kind))
        return inNewStore(kind, shape, keys.count, setting, isFilled: true) {
          try $0.remove(keys)
        } verify: {
          try $0.verify(keys, have: nil, kind.name)
          if keys.count < all.count { try $0.verify(all.only(keys.count), have: shape.value, kind.name) }
        }
      }
    }
  }

  // MARK: Parts

  /// A store that is made for the round, and closed and removed after it.
  private static func inNewStore(
    _ kind: DiskSubjectKind, _ shape: DiskShape, _ operations: Int, _ setting: Setting, isFilled: Bool = false,
    _ body: @escaping (any DiskSubject) throws -> Void, verify: @escaping (any DiskSubject) throws -> Void
  ) -> Trial {
    var directory: URL?
    var subject: (any DiskSubject)?
    return Trial(
      kind.name, operations: operations,
      before: {
        let new = try setting.directory()
        directory = new
        subject = try isFilled ? shape.filled(kind, in: new) : kind.open(new, shape.size)
      },
      verify: {
        try verify(subject!)
        try subject!.verifyIdentity(valueSize: shape.size, kind.name)
      },
      after: {
        try subject?.settle()
        try subject?.close()
        subject = nil
        try setting.remove(directory!)
        return [:]
      },
      body: { try body(subject!) })
  }
}
