import LMDB
import Synchronization
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

@Suite struct RegistryTests {
  let directory = TemporaryDirectory()

  func open(_ path: String) throws(LMDBError) -> Environment {
    var options = Environment.Options()
    options.mapSize = 64 << 20
    options.syncMode = .noSync
    return try Environment.open(directory: path, options: options)
  }

  @Test func everyPathToTheFileGivesTheSameObject() throws {
    let real = directory.makeDirectory("real")
    symlink(real, directory.path + "/link")
    let first = try open(real)
    let paths = [real + "/", real + "/../real", real + "//.", directory.path + "/link", directory.path + "/link/"]
    for path in paths {
      let other = try open(path)
      #expect(other === first)
      other.close()
    }
    #expect(first.directory == real)
    #expect(!first.isClosed)
    first.close()
    #expect(first.isClosed)
  }

  /// Identity comes from the directory and its files, not the path.
  @Test func aRenamedDirectoryStaysTheSameAndItsPathIsAnothers() throws {
    let first = try open(directory.makeDirectory("cache"))
    try first.put([1], [1])
    #expect(rename(directory.path + "/cache", directory.path + "/moved") == 0)
    let second = try open(directory.makeDirectory("cache"))
    #expect(second !== first)
    #expect(try second.value([1]) == nil)
    try second.put([2], [1])
    let again = try open(directory.path + "/moved")
    #expect(again === first)
    again.close()
    #expect(try first.displacement() == [.data, .lockFile])
    // It reopens at its current place.
    try first.reopen()
    #expect(try first.value([1]) == [1])
    #expect(try second.value([1]) == [2])
    second.close()
    first.close()
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func twoDirectoriesGiveTwoObjects() throws {
    let first = try open(directory.makeDirectory("one"))
    let second = try open(directory.makeDirectory("two"))
    try first.put([1], [1])
    #expect(first !== second)
    #expect(try second.value([1]) == nil)
    first.close()
    #expect(!second.isClosed)
    second.close()
  }

  @Test func everyOpenHasToBeBalanced() throws {
    let first = try open(directory.path)
    let second = try open(directory.path)
    try first.put([1], [1])
    first.close()
    #expect(try second.value([1]) == [1])
    second.close()
    #expect(code { () throws(LMDBError) in _ = try second.value([1]) } == .closed)
    second.close()
    let third = try open(directory.path)
    #expect(third !== second)
    #expect(try third.value([1]) == [1])
    third.close()
  }

  @Test func everythingThrowsAfterTheClose() throws {
    let environment = try open(directory.path)
    try environment.put([1], [1])
    let id = environment.lastTransactionID
    environment.close()
    #expect(code { () throws(LMDBError) in _ = try environment.value([1]) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try environment.beginWrite() } == .closed)
    #expect(code { () throws(LMDBError) in _ = try environment.info() } == .closed)
    #expect(code { () throws(LMDBError) in try environment.sync(force: true) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try environment.checkReaders() } == .closed)
    #expect(code { () throws(LMDBError) in try environment.growMap(to: 1 << 30) } == .closed)
    #expect(code { () throws(LMDBError) in _ = try environment.openDatabase(named: "x") } == .closed)
    #expect(environment.lastTransactionID == id)
  }

  /// File systems reuse a deleted file's inode, even while its last user is still closing it.
  @Test func aNewLockFileWithTheInodeOfOneThatIsBeingClosedIsAnother() throws {
    onThreads(4) { thread in
      let path = directory.makeDirectory("\(thread)")
      do {
        for round in 0..<300 {
          let environment = try open(path)
          unlink(path + "/data.mdb")
          unlink(path + "/lock.mdb")
          if round.isMultiple(of: 2) { environment.close() }
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func twoThreadsAtOnceGetOneObject() throws {
    for _ in 0..<50 {
      let objects = Mutex<[Environment]>([])
      onThreads(4) { _ in
        do {
          let environment = try open(directory.path)
          objects.withLock { $0.append(environment) }
        } catch {
          Issue.record(error)
        }
      }
      let opened = objects.withLock { $0 }
      #expect(opened.count == 4)
      #expect(opened.allSatisfy { $0 === opened[0] })
      onThreads(4) { opened[$0].close() }
      #expect(opened[0].isClosed)
      #expect(openDescriptors(in: directory.path) == 0)
    }
  }

  /// The lock file is never open twice.
  @Test func droppedObjectsCloseThemselves() throws {
    onThreads(4) { index in
      for round in 0..<200 {
        do {
          let environment = try open(directory.path)
          try environment.put([UInt8(index), UInt8(round)], [UInt8(index) + 1])
          #expect(openDescriptors(in: directory.path) <= 4)
          if (round + index) % 2 == 0 { environment.close() }
        } catch {
          Issue.record(error)
        }
      }
    }
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func contradictingOptions() throws {
    let first = try open(directory.path)
    defer { first.close() }
    func reopen(_ change: (inout Environment.Options) -> Void) -> LMDBError.Code? {
      code { () throws(LMDBError) in try directory.open(change).close() }
    }
    #expect(reopen { $0.syncMode = .full } == .otherEnvironmentOptions)
    #expect(reopen { $0.isReadOnly = true } == .otherEnvironmentOptions)
    #expect(reopen { $0.maxDatabases = 1 } == .otherEnvironmentOptions)
    #expect(reopen { $0.mapSize = 1 << 30 } == nil)
    #expect(reopen { $0.readerPoolSize = 0 } == .invalidArgument)
    #expect(try first.value([1]) == nil)
  }

  @Test func openingForWritingWaitsForABriefReader() throws {
    func brief(_ options: inout Environment.Options) { (options.isReadOnly, options.isBrief) = (true, true) }
    let first = try open(directory.path)
    try first.put([2], [1])
    // It takes an environment that is open for writing.
    let shared = try directory.open(brief)
    #expect(shared === first)
    shared.close()
    first.close()
    let reader = try directory.open(brief)
    #expect(try reader.value([1]) == [2])
    #expect(code { () throws(LMDBError) in try directory.open { $0.waits.close = 1_000_000 }.close() } == .busy)
    reader.close()
    try directory.open().close()
  }

  @Test func optionsOutOfRangeAreRefused() throws {
    func open(_ change: (inout Environment.Options) -> Void) -> LMDBError.Code? {
      code { () throws(LMDBError) in try directory.open(change).close() }
    }
    for size in [Int.min, -1, 0, 1 << 16 + 1, .max] {
      #expect(open { $0.readerPoolSize = size } == .invalidArgument)
    }
    for count: UInt32 in [0, 1 << 20 + 1, .max] { #expect(open { $0.maxReaders = count } == .invalidArgument) }
    for count: UInt32 in [65_536, .max] { #expect(open { $0.maxDatabases = count } == .invalidArgument) }
    for size in [Int.min, -1, 0] { #expect(open { $0.mapSize = size } == .invalidArgument) }
    #expect(open { ($0.readerPoolSize, $0.maxReaders, $0.maxDatabases) = (1 << 16, 1 << 20, 65_535) } == nil)
    for size in [1, .max] { #expect(open { $0.mapSize = size } == nil) }
  }

  @Test func aReplacedFileIsNotTheSame() throws {
    let first = try open(directory.path)
    unlink(directory.path + "/data.mdb")
    #expect(code { () throws(LMDBError) in _ = try open(directory.path) } == .fileReplaced)
    unlink(directory.path + "/lock.mdb")
    let second = try open(directory.path)
    #expect(second !== first)
    try second.put([1], [1])
    #expect(try first.value([1]) == nil)
    second.close()
    first.close()
    #expect(openDescriptors(in: directory.path) == 0)
  }

  @Test func missingDirectoriesAndForeignFiles() throws {
    #expect(code { () throws(LMDBError) in _ = try open(directory.path + "/missing") } == .noSuchFile)
    let text = directory.makeDirectory("text")
    let descriptor = creat(text + "/data.mdb", 0o600)
    let content = [UInt8](repeating: 65, count: 10_000)
    #expect(write(descriptor, content, content.count) == content.count)
    close(descriptor)
    #expect(code { () throws(LMDBError) in _ = try open(text) } == .invalid)
    #expect(openDescriptors(in: text) == 0)
    let folder = directory.makeDirectory("folder")
    mkdir(folder + "/data.mdb", 0o700)
    #expect(code { () throws(LMDBError) in _ = try open(folder) } == .foreignFile)
    #expect(openDescriptors(in: folder) == 0)
  }
}
