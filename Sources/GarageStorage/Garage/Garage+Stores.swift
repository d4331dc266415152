import Foundation
import Platform
import Synchronization

extension Garage {
  /// Describes a durable store by name: a directory in `$XDG_DATA_HOME/<program>` or `~/.local/share/<program>` on
  /// Linux, in `Library/Application Support/<program>` on Apple platforms.
  ///
  /// - Parameter storeName: May contain folders: "Accounts/Main.garage".
  public static func makePersistentStoreDescription(_ storeName: String) -> PersistentStoreDescription {
    PersistentStoreDescription(url: dataDirectory.appendingPathComponent(storeName, isDirectory: true))
  }

  private static var dataDirectory: URL {
    let program = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    #if canImport(Darwin)
      let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
    #else
      let folder = URL(fileURLWithPath: BaseDirectory.data.path())
    #endif
    return folder.appendingPathComponent(program, isDirectory: true)
  }

  /// Opens the stores now, to report errors before the first operation.
  ///
  /// - Parameter block: Called for each description before this returns, with its error if any.
  public func loadPersistentStores(
    completionHandler block: (PersistentStoreDescription, (any Error)?) -> Void
  ) {
    for (index, description) in descriptions.enumerated() {
      guard index == 0 else {
        block(description, GarageError.invalidStore("A garage has one store. Make another garage for the other one."))
        continue
      }
      do {
        _ = try store()
        block(description, nil)
      } catch {
        block(description, error)
      }
    }
  }

  /// Closes the store. Discards unsaved changes; later operations throw.
  public func close() {
    writing.withLock {
      let store = state.withLock { state in
        state.isClosed = true
        defer { state.store = nil }
        return state.store
      }
      store?.close()
    }
  }

  func store() throws -> any GarageStore {
    if let store = try openStore() { return store }
    return try loading.withLock {
      if let store = try openStore() { return store }
      guard let description = descriptions.first else {
        throw GarageError.invalidStore("The garage has no store. Give it a PersistentStoreDescription.")
      }
      let store: any GarageStore
      switch description.type {
      case .inMemory: store = MemoryStore()
      case .durable:
        guard let url = description.url, url.isFileURL else {
          throw GarageError.invalidStore("A durable store needs the URL of a directory. Set the description's url.")
        }
        store = try LMDBStore(directory: url, mapSize: description.mapSize)
      default:
        throw GarageError.invalidStore(
          "There is no store of type \"\(description.type.rawValue)\". Use .durable or .inMemory.")
      }
      state.withLock { $0.store = store }
      return store
    }
  }

  private func openStore() throws -> (any GarageStore)? {
    let (store, isClosed) = state.withLock { ($0.store, $0.isClosed) }
    guard !isClosed else { throw GarageError.closed }
    return store
  }
}
