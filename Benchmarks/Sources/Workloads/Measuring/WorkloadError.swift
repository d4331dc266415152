/// A subject did not do what the workload asked for: there is no figure.
struct WorkloadError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
