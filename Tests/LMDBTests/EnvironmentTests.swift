import Foundation
import LMDB
import TestSupport
import Testing

/// Which environment an opening gives, how it ends, and how it is opened again.
@Suite struct EnvironmentTests {
  let directory = TemporaryDirectory()

  // MARK: Identity

  @Test func everyPathToTheFileGivesTheSameObject() throws {
    let real = directory.makeDirectory("real")
    #expect(symlink(real, directory.path + "/link") == 0)
    let first = try directory.open("real")
    for path in ["real/", "real/../real", "real//.", "link", "link/"] {
      let other = try directory.open(path)
      #expect(other === first)
      other.close()
    }
    #expect(first.directory == real)
    try first.put([1], [1])
    let number = first.lastTransactionID
    let second = try directory.open("real")
    first.close()
    #expect(try second.value([1]) == [1])
    second.close()
    #expect(second.isClosed && second.lastTransactionID == number)
    #expect(code { () throws(LMDBError) in _ = try second.value([1]) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try second.beginWrite() } == .closed)
    #expect(code { () throws(LMDBError) in _ = try second.info() } == .closed)
    #expect(code { () throws(LMDBError) in try second.sync(force: true) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try second.checkReaders() } == .closed)
    #expect(code { () throws(LMDBError) in try second.growMap(to: 1 << 30) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try second.openDatabase(named: "x") } == .closed)
    let third = try directory.open("real")
    #expect(third !== second)
    #expect(try third.value([1]) == [1])
    third.close()
    #expect(code { () throws(LMDBError) in _ = try directory.open("missing") } == .noSuchFile)
  }

  /// Identity comes from the directory and its files, not the path.
  @Test func aRenamedDirectoryStaysTheSameAndItsPathIsAnothers() throws {
    let cache = directory.makeDirectory("cache")
    let first = try directory.open("cache")
    try first.put([1], [1])
    #expect(rename(cache, directory.path + "/moved") == 0)
    _ = directory.makeDirectory("cache")
    let second = try directory.open("cache")
    #expect(second !== first)
    #expect(try second.value([1]) == nil)
    try second.put([2], [1])
    let again = try directory.open("moved")
    #expect(again === first)
    again.close()
    #expect(try first.displacement() == [.data, .lockFile])
    // It reopens at its current place.
    try first.reopen()
    #expect(try first.value([1]) == [1])
    #expect(try second.value([1]) == [2])
    second.close()
    first.close()
    #expect(directory.openFiles == 0)
  }

  /// Objects that are dropped close themselves, and the lock file is never open twice. File systems reuse a deleted
  /// file's inode, even while its last user is still closing it.
  @Test(arguments: [false, true]) func droppedObjectsCloseThemselves(_ isDeleted: Bool) throws {
    concurrently(4) { [directory] thread in
      do {
        let folder = isDeleted ? "\(thread)" : ""
        if isDeleted { _ = directory.makeDirectory(folder) }
        for round in 0..<200 {
          let environment = try directory.open(folder)
          try environment.put([UInt8(thread), UInt8(round)], [UInt8(thread) + 1])
          if isDeleted {
            for name in ["data.mdb", "lock.mdb"] { unlink("\(directory.path)/\(folder)/\(name)") }
          } else {
            #expect(directory.openFiles <= 4)
          }
          if (round + thread) % 2 == 0 { environment.close() }
        }
      } catch { Issue.record(error) }
    }
    #expect(directory.openFiles == 0)
  }

  // MARK: Options

  @Test func optionsAreChecked() throws {
    func open(_ change: (inout Environment.Options) -> Void) -> LMDBError.Code? {
      code { () throws(LMDBError) in try directory.open("", change).close() }
    }
    for size in [Int.min, -1, 0, 1 << 16 + 1, .max] { #expect(open { $0.readerPoolSize = size } == .invalidArgument) }
    for count: UInt32 in [0, 1 << 20 + 1, .max] { #expect(open { $0.maxReaders = count } == .invalidArgument) }
    for count: UInt32 in [65_536, .max] { #expect(open { $0.maxDatabases = count } == .invalidArgument) }
    for size in [Int.min, -1, 0] { #expect(open { $0.mapSize = size } == .invalidArgument) }
    #expect(open { ($0.readerPoolSize, $0.maxReaders, $0.maxDatabases) = (1 << 16, 1 << 20, 65_535) } == nil)
    for size in [1, .max] { #expect(open { $0.mapSize = size } == nil) }
    // While it is open, the others must agree.
    let first = try directory.open()
    #expect(open { $0.syncMode = .full } == .otherEnvironmentOptions)
    #expect(open { $0.isReadOnly = true } == .otherEnvironmentOptions)
    #expect(open { $0.maxDatabases = 1 } == .otherEnvironmentOptions)
    #expect(open { $0.mapSize = 1 << 30 } == nil)
    // A brief reader takes an environment that is open for writing, and keeps others from opening it so.
    func brief(_ options: inout Environment.Options) { (options.isReadOnly, options.isBrief) = (true, true) }
    try first.put([2], [1])
    #expect(open(brief) == nil)
    first.close()
    let reader = try directory.open("", brief)
    #expect(try reader.value([1]) == [2])
    #expect(open { $0.waits.close = 1_000_000 } == .busy)
    reader.close()
    #expect(open { _ in } == nil)
  }

  // MARK: Closing

  @Test func readersThatRunFinishAndNewOnesAreRefused() throws {
    for _ in 0..<30 {
      let environment = try directory.open()
      try environment.put([1, 2], [1])
      let (refused, reads) = (Guarded(0), Guarded(0))
      concurrently(5) { index in
        if index == 0 {
          #expect(eventually { reads.current >= 200 })
          return environment.close()
        }
        while true {
          do throws(LMDBError) {
            #expect(try environment.value([1]) == [1, 2])
            _ = try environment.info()
            reads { $0 += 1 }
          } catch {
            #expect(error.code == .closed)
            return refused { $0 += 1 }
          }
        }
      }
      #expect(refused.current == 4)
      #expect(directory.openFiles == 0)
    }
  }

  @Test func writersThatWaitAreRefused() throws {
    let environment = try directory.open()
    let transaction = try environment.beginWrite()
    try transaction.put([1], [1])
    let (group, begun, refused) = (DispatchGroup(), Guarded(0), Guarded(0))
    for _ in 0..<4 {
      inBackground(group) {
        begun { $0 += 1 }
        let failure = code { () throws(LMDBError) in _ = try environment.beginWrite() }
        if failure == .closed { refused { $0 += 1 } }
      }
    }
    #expect(eventually { begun.current == 4 })
    inBackground(group) { environment.close() }
    #expect(eventually { environment.isClosed })
    try transaction.commit()
    group.wait()
    #expect(refused.current == 4)
    #expect(directory.openFiles == 0)
    let again = try directory.open()
    #expect(try again.value([1]) == [1])
    again.close()
  }

  /// A close during a read of the same thread takes bounded time, and then closes the files, unless it is opened again.
  @Test(arguments: [false, true]) func closingInsideARead(_ isOpenedAgain: Bool) throws {
    func use() throws {
      let environment = try directory.open { $0.waits.close = 10_000_000 }
      try environment.put([1, 2], [1])
      try environment.withReadTransaction { transaction throws(LMDBError) in
        environment.close()
        #expect(try transaction.value([1]) == [1, 2])
        #expect(environment.isClosed)
        #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .closed)
      }
      if isOpenedAgain {
        let again = try directory.open()
        #expect(again === environment)
        #expect(try environment.value([1]) == [1, 2])
        again.close()
      }
    }
    try use()
    #expect(directory.openFiles == 0)
  }

  // MARK: Opening again

  @Test func aSnapshotOrDamageKeepsItAsItIs() throws {
    let environment = try directory.open { ($0.waits.adoption, $0.maxDatabases) = (1_000_000, 1) }
    defer { environment.close() }
    try environment.put([1], [1])
    try environment.withReadTransaction { (transaction) throws(LMDBError) in
      #expect(code { () throws(LMDBError) in try environment.reopen() } == .busy)
      #expect(try transaction.value([1]) == [1])
    }
    let transaction = try environment.beginWrite()
    #expect(code { () throws(LMDBError) in try environment.reopen() } == .busy)
    transaction.abort()
    // A failed resize breaks it.
    let name = try environment.openDatabase(named: "name")
    FaultInjection.with(.directory(directory.path), .init(.envSetMapSize, returns: ENOMEM)) {
      #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .outOfMemory)
    }
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .panic)
    try environment.reopen()
    #expect(try environment.value([1]) == [1])
    #expect(try environment.openDatabase(named: "name") == name)
    environment.breakOff()
    #expect(code { () throws(LMDBError) in try environment.reopen() } == .corrupted)
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .corrupted)
  }
}
