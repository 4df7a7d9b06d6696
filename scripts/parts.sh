# Parts of a test run, each with its time; all run even if one fails. To be sourced.
failed=()
part() {
  local name=$1 start=$SECONDS
  shift
  printf '\n=== %s\n' "$name"
  "$@" || failed+=("$name")
  printf '=== %s took %d s\n' "$name" $((SECONDS - start))
}

end_of_parts() {
  if [ ${#failed[@]} -gt 0 ]; then
    local list
    printf -v list '%s, ' "${failed[@]}"
    printf '\nfailed: %s\n' "${list%, }"
    exit 1
  fi
  printf '\nall parts passed\n'
}

# run_shards BINARY: the C++ tests in as many processes as there are cores, each with every so many-th test.
run_shards() {
  local binary=$1 shards pids=() status=0
  shards=$(nproc)
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard "$binary" --gtest_brief=1 "${@:2}" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || status=1; done
  return $status
}
