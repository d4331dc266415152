import Foundation
import Synchronization

/// The source of the loaded keys: one number for each, in memory that all machines share.
// Sendable: the numbers are atomic, and stay mapped.
struct FleetSource: @unchecked Sendable {
  private let numbers: UnsafeMutablePointer<Atomic<Int>>

  init(_ directory: String) throws {
    let size = FleetPlan.keys * MemoryLayout<Atomic<Int>>.stride
    let descriptor = open(directory + "/source", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { _ = close(descriptor) }
    guard ftruncate(descriptor, off_t(size)) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), memory != MAP_FAILED
    else { throw POSIXError(.EIO) }
    numbers = memory.bindMemory(to: Atomic<Int>.self, capacity: FleetPlan.keys)
  }

  subscript(key: Int) -> Int {
    get { numbers[key].load(ordering: .sequentiallyConsistent) }
    nonmutating set { numbers[key].store(newValue, ordering: .sequentiallyConsistent) }
  }
}
