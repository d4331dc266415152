/// A subject failed its workload and gets no figure.
struct WorkloadError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
