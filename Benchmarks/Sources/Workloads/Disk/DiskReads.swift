import Foundation

/// Reads of present and missing keys, and the first read after opening.
enum DiskReads {
  private static let kinds: [DiskSubjectKind] =
    [
      .diskCache("LMDBCaching, disk only, Data"), .diskCache("LMDBCaching, disk only, withBytes", reads: .bytes),
      .diskCache("LMDBCaching, disk only, 64 at once", reads: .many), .lmdb, .sqlite,
    ] + DiskSubjectKind.optional + [.files]

  static func random(_ shape: DiskShape, name: String = "disk.get.random") -> Workload {
    Workload(name, shape.parameters) { setting in
      let keys = shape.keys(seed: 12)
      return try setting.chosen(kinds).map { kind in
        try onFilled(kind, shape, setting) {
          try $0.get(keys)
        } verify: {
          try $0.verify(keys, have: shape.value, kind.name)
        }
      }
    }
  }

  static func missing(_ shape: DiskShape) -> Workload {
    // The way of reading makes no difference for a missing value.
    let kinds = [DiskSubjectKind.diskCache(), .lmdb, .sqlite] + DiskSubjectKind.optional + [.files]
    return Workload("disk.get.missing", shape.parameters) { setting in
      let keys = shape.missingKeys
      return try setting.chosen(kinds).map { kind in
        try onFilled(kind, shape, setting) {
          try $0.getMissing(keys)
        } verify: {
          try $0.verify(keys, have: nil, kind.name)
        }
      }
    }
  }

  static func reopen(_ shape: DiskShape) -> Workload {
    let kinds = [DiskSubjectKind.cache, .diskCache(), .lmdb, .sqlite] + DiskSubjectKind.optional + [.files]
    return Workload("disk.reopenFirstGet", shape.parameters) { setting in
      let key = shape.keys(seed: 13).prefix(1)
      return try setting.chosen(kinds).map { kind in
        let directory = try setting.directory()
        try shape.filled(kind, in: directory).close()
        var subject: (any DiskSubject)?
        return Trial(
          kind.name, operations: 1,
          verify: { try subject!.verify(key, have: shape.value, kind.name) },
          after: {
            try subject?.close()
            subject = nil
            return [:]
          },
          finish: { try setting.remove(directory) },
          body: {
            let opened = try kind.open(directory, shape.size)
            try opened.get(key)
            subject = opened
          })
      }
    }
  }

  /// Opens a cache that was closed, and one whose process was killed after a commit.
  static func reopenAfterKill(_ shape: DiskShape) -> Workload {
    Workload("disk.reopenAfterKill", shape.parameters) { setting in
      let key = shape.keys(seed: 13).prefix(1)
      let kind = DiskSubjectKind.diskCache()
      return try [false, true].map { isKilled in
        let directory = try setting.directory()
        try shape.filled(kind, in: directory).close()
        var subject: (any DiskSubject)?
        return Trial(
          kind.name + (isKilled ? ", killed" : ", closed"), operations: 1,
          before: { if isKilled { try KilledWriter.run(in: directory, valueSize: shape.size) } },
          verify: { try subject!.verify(key, have: shape.value, kind.name) },
          after: {
            try subject?.close()
            subject = nil
            return [:]
          },
          finish: { try setting.remove(directory) },
          body: {
            let opened = try kind.open(directory, shape.size)
            try opened.get(key)
            subject = opened
          })
      }
    }
  }

  /// A store that is filled once. Every round reads each of its keys, or as many missing ones.
  private static func onFilled(
    _ kind: DiskSubjectKind, _ shape: DiskShape, _ setting: Setting,
    _ body: @escaping (any DiskSubject) throws -> Void, verify: @escaping (any DiskSubject) throws -> Void
  ) throws -> Trial {
    let directory = try setting.directory()
    let subject = try shape.filled(kind, in: directory)
    return Trial(
      kind.name, operations: shape.count,
      verify: {
        try verify(subject)
        try subject.verifyIdentity(valueSize: shape.size, kind.name)
        try subject.settle()
      },
      finish: {
        try subject.close()
        try setting.remove(directory)
      },
      body: { try body(subject) })
  }
}
